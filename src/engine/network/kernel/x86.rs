//! The arithmetic with the wide registers of x86-64 processors.
//!
//! Squares do not fit sixteen bits, but weight times value does (both are limited): that product times the value again
//! is summed pairwise into 32 bits.

#![expect(
    unsafe_code,
    reason = "wide registers are reached by intrinsics, whose loads take pointers and whose functions need a processor that has them"
)]

use std::arch::x86_64::{
    __m256i, __m512i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi16,
    _mm256_add_epi32, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_load_si256,
    _mm256_madd_epi16, _mm256_max_epi16, _mm256_min_epi16, _mm256_mullo_epi16, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_store_si256, _mm256_sub_epi16, _mm512_add_epi16, _mm512_add_epi32,
    _mm512_dpwssd_epi32, _mm512_load_si512, _mm512_madd_epi16, _mm512_max_epi16, _mm512_min_epi16,
    _mm512_mullo_epi16, _mm512_reduce_add_epi32, _mm512_set1_epi16, _mm512_setzero_si512,
    _mm512_store_si512, _mm512_sub_epi16,
};

use super::{ACTIVATION_MAX, Block, Level};

/// Calls the form of a level. The level must be available.
#[inline(always)]
pub(super) fn update(
    level: Level,
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
) {
    match level {
        // SAFETY: a `Kernel` exists only for levels the processor was asked for; both need AVX-512 F and BW.
        Level::Avx512 | Level::Avx512Vnni => unsafe {
            update_512(source, target, weights, added, removed);
        },
        // SAFETY: as above, with AVX2; the portable level does not come here.
        Level::Avx2 | Level::Portable => unsafe {
            update_256(source, target, weights, added, removed);
        },
    }
}

/// Calls the form of a level. The level must be available.
#[inline(always)]
pub(super) fn output(level: Level, values: &[Block], weights: &[Block]) -> i32 {
    match level {
        // SAFETY: a `Kernel` exists only for levels the processor was asked for.
        Level::Avx512Vnni => unsafe { output_vnni(values, weights) },
        // SAFETY: as above.
        Level::Avx512 => unsafe { output_512(values, weights) },
        // SAFETY: as above; the portable level does not come here.
        Level::Avx2 | Level::Portable => unsafe { output_256(values, weights) },
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_256(block: &Block, half: usize) -> __m256i {
    let values = &block.0[half * 16..][..16];
    // SAFETY: the slice has 32 bytes, and half a block begins at a multiple of 32 bytes.
    unsafe { _mm256_load_si256(values.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_256(block: &mut Block, half: usize, values: __m256i) {
    let place = &mut block.0[half * 16..][..16];
    // SAFETY: as in `load_256`.
    unsafe { _mm256_store_si256(place.as_mut_ptr().cast(), values) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_512(block: &Block) -> __m512i {
    // SAFETY: a block has 64 bytes and is aligned to 64.
    unsafe { _mm512_load_si512(block.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn store_512(block: &mut Block, values: __m512i) {
    // SAFETY: as in `load_512`.
    unsafe { _mm512_store_si512(block.0.as_mut_ptr().cast(), values) }
}

/// Eight registers hold four blocks while all rows are added; what is left over goes block by block.
#[target_feature(enable = "avx2")]
fn update_256(
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
) {
    let n = source.len();
    let wide = n / 4 * 4;
    for at in (0..wide).step_by(4) {
        tile_256::<8>(source, target, weights, added, removed, at);
    }
    for at in wide..n {
        tile_256::<2>(source, target, weights, added, removed, at);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn tile_256<const REGISTERS: usize>(
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
    at: usize,
) {
    let n = source.len();
    let blocks = REGISTERS / 2;
    let mut sums = [_mm256_setzero_si256(); REGISTERS];
    let from = &source[at..][..blocks];
    for i in 0..REGISTERS {
        sums[i] = load_256(&from[i / 2], i % 2);
    }
    for &index in removed {
        let row = &weights[index as usize * n + at..][..blocks];
        for i in 0..REGISTERS {
            sums[i] = _mm256_sub_epi16(sums[i], load_256(&row[i / 2], i % 2));
        }
    }
    for &index in added {
        let row = &weights[index as usize * n + at..][..blocks];
        for i in 0..REGISTERS {
            sums[i] = _mm256_add_epi16(sums[i], load_256(&row[i / 2], i % 2));
        }
    }
    let to = &mut target[at..][..blocks];
    for i in 0..REGISTERS {
        store_256(&mut to[i / 2], i % 2, sums[i]);
    }
}

/// Eight registers hold eight blocks, four hold four; what is left over goes block by block.
#[target_feature(enable = "avx512f,avx512bw")]
fn update_512(
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
) {
    let n = source.len();
    let mut at = 0;
    while n - at >= 8 {
        tile_512::<8>(source, target, weights, added, removed, at);
        at += 8;
    }
    if n - at >= 4 {
        tile_512::<4>(source, target, weights, added, removed, at);
        at += 4;
    }
    while at < n {
        tile_512::<1>(source, target, weights, added, removed, at);
        at += 1;
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn tile_512<const REGISTERS: usize>(
    source: &[Block],
    target: &mut [Block],
    weights: &[Block],
    added: &[u16],
    removed: &[u16],
    at: usize,
) {
    let n = source.len();
    let mut sums = [_mm512_setzero_si512(); REGISTERS];
    let from = &source[at..][..REGISTERS];
    for i in 0..REGISTERS {
        sums[i] = load_512(&from[i]);
    }
    for &index in removed {
        let row = &weights[index as usize * n + at..][..REGISTERS];
        for i in 0..REGISTERS {
            sums[i] = _mm512_sub_epi16(sums[i], load_512(&row[i]));
        }
    }
    for &index in added {
        let row = &weights[index as usize * n + at..][..REGISTERS];
        for i in 0..REGISTERS {
            sums[i] = _mm512_add_epi16(sums[i], load_512(&row[i]));
        }
    }
    let to = &mut target[at..][..REGISTERS];
    for i in 0..REGISTERS {
        store_512(&mut to[i], sums[i]);
    }
}

#[target_feature(enable = "avx2")]
fn output_256(values: &[Block], weights: &[Block]) -> i32 {
    let zero = _mm256_setzero_si256();
    let most = _mm256_set1_epi16(ACTIVATION_MAX);
    // Two sums, so that one addition need not wait for the other.
    let mut sums = [zero; 2];
    for (block, weights) in values.iter().zip(weights) {
        for (half, sum) in sums.iter_mut().enumerate() {
            let value = load_256(block, half);
            let value = _mm256_min_epi16(_mm256_max_epi16(value, zero), most);
            let product = _mm256_mullo_epi16(value, load_256(weights, half));
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(product, value));
        }
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let sum = _mm_add_epi32(
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    );
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b01_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b10_11_00_01>(sum));
    _mm_cvtsi128_si32(sum)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn clipped_512(block: &Block) -> __m512i {
    let most = _mm512_set1_epi16(ACTIVATION_MAX);
    _mm512_min_epi16(
        _mm512_max_epi16(load_512(block), _mm512_setzero_si512()),
        most,
    )
}

#[target_feature(enable = "avx512f,avx512bw")]
fn output_512(values: &[Block], weights: &[Block]) -> i32 {
    let mut sum = _mm512_setzero_si512();
    for (block, weights) in values.iter().zip(weights) {
        let value = clipped_512(block);
        let product = _mm512_mullo_epi16(value, load_512(weights));
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(product, value));
    }
    _mm512_reduce_add_epi32(sum)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn output_vnni(values: &[Block], weights: &[Block]) -> i32 {
    let mut sum = _mm512_setzero_si512();
    for (block, weights) in values.iter().zip(weights) {
        let value = clipped_512(block);
        let product = _mm512_mullo_epi16(value, load_512(weights));
        sum = _mm512_dpwssd_epi32(sum, product, value);
    }
    _mm512_reduce_add_epi32(sum)
}
