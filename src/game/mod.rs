//! One game, platform-neutral.
