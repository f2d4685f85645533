//! Client of Lichess and of servers with its interface.
