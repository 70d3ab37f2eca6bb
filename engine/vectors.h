// Vectors of floats and of 16-bit integers, eight or sixteen lanes wide, for engine/kernel.c; and what is computed lane by lane.

#pragma once

#include <immintrin.h>
#include <math.h>
#include <stdint.h>

// Two 16-bit values read as one: the compiler may not take them for memory of another kind.
typedef int32_t __attribute__((may_alias, aligned(2))) Couple;

#ifdef __AVX512BW__
#define LANES 16
#define TILE 8  // rows that share an unpacked weight
typedef __m512i Ints;
typedef __m512 Floats;
#define zero_ints() _mm512_setzero_si512()
#define zero_floats() _mm512_setzero_ps()
#define splat(x) _mm512_set1_ps(x)
#define load(p) _mm512_loadu_ps(p)
#define store(p, x) _mm512_storeu_ps(p, x)
#define fma_(a, b, c) _mm512_fmadd_ps(a, b, c)
#define times(a, b) _mm512_mul_ps(a, b)
#define as_floats(x) _mm512_cvtepi32_ps(x)
#define unsigned_bytes(p) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define signed_bytes(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define low_half(x) _mm512_and_si512(x, _mm512_set1_epi16(15))
#define high_half(x) _mm512_srli_epi16(x, 4)
#define pair(p) _mm512_set1_epi32(*(const Couple *)(p))
#define load_int16(p) _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(p))))
#define load_fp16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define load_bf16(p) \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#define sum_of(x) _mm512_reduce_add_ps(x)
#define half_sum(x) \
    _mm256_add_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)))
#ifdef __AVX512VNNI__
#define dot(acc, w, x) _mm512_dpwssd_epi32(acc, w, x)
#else
#define dot(acc, w, x) _mm512_add_epi32(acc, _mm512_madd_epi16(w, x))
#endif
#else
#define LANES 8
#define TILE 4
typedef __m256i Ints;
typedef __m256 Floats;
#define zero_ints() _mm256_setzero_si256()
#define zero_floats() _mm256_setzero_ps()
#define splat(x) _mm256_set1_ps(x)
#define load(p) _mm256_loadu_ps(p)
#define store(p, x) _mm256_storeu_ps(p, x)
#define fma_(a, b, c) _mm256_fmadd_ps(a, b, c)
#define times(a, b) _mm256_mul_ps(a, b)
#define as_floats(x) _mm256_cvtepi32_ps(x)
#define unsigned_bytes(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define signed_bytes(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define low_half(x) _mm256_and_si256(x, _mm256_set1_epi16(15))
#define high_half(x) _mm256_srli_epi16(x, 4)
#define pair(p) _mm256_set1_epi32(*(const Couple *)(p))
#define load_int16(p) _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(p))))
#define load_fp16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define load_bf16(p) \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define half_sum(x) (x)
#define dot(acc, w, x) _mm256_add_epi32(acc, _mm256_madd_epi16(w, x))
static inline float sum_of(__m256 x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
#endif

// e^x for x <= 0, to 2 ulp (Cephes).
static inline float exp_(float x) {
    x = fmaxf(x, -87.0f);
    const float n = rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const union { int32_t i; float f; } power = {((int32_t)n + 127) << 23};
    return (p * r * r + r + 1.0f) * power.f;
}

static inline float silu(float x) {
    const float e = exp_(-fabsf(x));
    return x >= 0 ? x / (1.0f + e) : x * e / (1.0f + e);
}

static inline float size_of(const float *x, int64_t n, float floor) {
    Floats sum = zero_floats();
    for (int64_t i = 0; i < n; i += LANES) sum = fma_(load(x + i), load(x + i), sum);
    return sqrtf(sum_of(sum) + floor * floor);
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
