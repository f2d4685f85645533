//! The one processor instruction the rules gain from: bit extraction (PEXT).
//!
//! Whether it is there is asked once, when the tables are built. The portable twin gives the same bits; a test compares
//! them. Inline assembly is used instead of the library intrinsic because it is inlined into callers that are not
//! themselves compiled for the feature.

/// Whether this processor extracts bits in hardware.
#[must_use]
pub fn has_fast_extract() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("bmi2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Gathers the bits of `value` selected by `mask` into the low bits of the result.
///
/// Must only be called where [`has_fast_extract`] said yes; elsewhere use `extract_portable`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(
    unsafe_code,
    reason = "PEXT halves the cost of sliding attacks and has no safe form that inlines here"
)]
pub(super) fn extract_fast(value: u64, mask: u64) -> u64 {
    let result: u64;
    // SAFETY: the instruction reads two registers and writes one, touches neither memory nor flags, and callers have
    // checked that the processor has it.
    unsafe {
        std::arch::asm!(
            "pext {result}, {value}, {mask}",
            result = lateout(reg) result,
            value = in(reg) value,
            mask = in(reg) mask,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    result
}

/// The same on processors without the instruction.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn extract_fast(value: u64, mask: u64) -> u64 {
    extract_portable(value, mask)
}

/// Gathers the bits of `value` selected by `mask`, one at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) fn extract_portable(value: u64, mask: u64) -> u64 {
    let mut rest = mask;
    let mut result = 0;
    let mut place = 0;
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        if value & bit != 0 {
            result |= 1 << place;
        }
        place += 1;
        rest ^= bit;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_and_portable_extraction_agree() {
        if !has_fast_extract() {
            return;
        }
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..100_000 {
            let (value, mask) = (next(), next() & next());
            assert_eq!(extract_fast(value, mask), extract_portable(value, mask));
        }
    }
}
