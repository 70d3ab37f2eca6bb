// Rotary positions, the caches of keys and values, and attention over them, for engine/kernel.c.

#pragma once

#include <string.h>

#include "product.h"

#define ROWS_TOGETHER 16  // rows of a sequence that attend together
#define KEYS_TOGETHER 64
#define AHEAD 16  // tokens fetched before they are needed

typedef struct {
    Matrix qkv, out, gate_up, down;
    const float *attn_gain, *mlp_gain;  // [hidden]
    const float *q_gain, *k_gain;       // [head_dim] or null
} Layer;

typedef struct {
    int64_t n_layers, hidden, intermediate, n_heads, n_kv_heads, head_dim, threads, few, rank;  // rank: the greatest of its updates
    float floor, head_floor;  // sqrt(n eps) of the norms over the hidden state and over a head
    const float *cos, *sin;   // [context, head_dim]; the sign of the first half lies in sin
    const float *gain;        // [hidden], of the last norm
    const Layer *layers;
} Model;

// New rows: the position of each, the keys and values of its sequence (bf16, [layer][token][2 n_kv_heads][head_dim]) and
// how many values lie between two layers of it.
typedef struct {
    int64_t rows;
    const int64_t *positions;
    uint16_t *const *caches;
    const int64_t *strides;
} Batch;

// What the tasks of a pass work on.
typedef struct {
    const Model *m;
    const Batch *batch;
    int64_t index, rows, threads, longest;
    float *x;  // [rows, hidden], the residual stream
    Rounded in, mixed, inner;
    float *heads, *scores, *lowered;  // lowered: room for A x of every row
    int64_t *tiles, n_tiles;
} Pass;

static inline uint16_t bf16(float x) {
    union { float f; uint32_t i; } bits = {x};
    return (uint16_t)((bits.i + 0x7fff + ((bits.i >> 16) & 1)) >> 16);
}

static void turn(float *head, int64_t dim, const float *gain, float floor, const float *cos, const float *sin) {
    if (gain) {
        const float size = size_of(head, dim, floor);
        for (int64_t i = 0; i < dim; i++) head[i] = head[i] / size * gain[i];
    }
    const int64_t half = dim / 2;
    for (int64_t i = 0; i < half; i++) {
        const float a = head[i], b = head[half + i];
        head[i] = a * cos[i] + b * sin[i];
        head[half + i] = b * cos[half + i] + a * sin[half + i];
    }
}

// Norms and rotates the heads of a row; keys and values go to its cache in bf16.
static void place(const void *with, int64_t row, int who) {
    const Pass *p = with;
    const Model *m = p->m;
    const Layer *layer = m->layers + p->index;
    const int64_t dim = m->head_dim, kv = m->n_kv_heads, at = p->batch->positions[row];
    float *own = p->heads + row * (m->n_heads + 2 * kv) * dim;
    uint16_t *to = p->batch->caches[row] + p->index * p->batch->strides[row] + at * 2 * kv * dim;
    (void)who;
    for (int64_t h = 0; h < m->n_heads + kv; h++)
        turn(own + h * dim, dim, h < m->n_heads ? layer->q_gain : layer->k_gain, m->head_floor, m->cos + at * dim,
             m->sin + at * dim);
    for (int64_t i = 0; i < 2 * kv * dim; i++) to[i] = bf16(own[m->n_heads * dim + i]);
}

// Keys or values of one head, `count` tokens from `from` on, as fp32 [count, dim].
static void widen(const uint16_t *from, int64_t count, int64_t step, int64_t dim, float *to) {
    // Tokens lie further apart than processors look ahead by themselves: without the nudge each would be waited for.
    for (int64_t t = 0; t < count; t++) {
        for (int64_t d = 0; d < dim; d += 32)
            __builtin_prefetch((const char *)(from + t * step + d) + 2 * AHEAD * step);
        for (int64_t d = 0; d < dim; d += LANES) store(to + t * dim + d, load_bf16(from + t * step + d));
    }
}

// The products of q [dim] with four keys, one after another in memory.
static inline __m128 four_dots(const float *q, const float *keys, int64_t dim) {
    Floats sum[4] = {zero_floats(), zero_floats(), zero_floats(), zero_floats()};
    for (int64_t d = 0; d < dim; d += LANES)
        for (int t = 0; t < 4; t++) sum[t] = fma_(load(q + d), load(keys + t * dim + d), sum[t]);
    const __m256 pairs = _mm256_hadd_ps(half_sum(sum[0]), half_sum(sum[1]));
    const __m256 all = _mm256_hadd_ps(pairs, _mm256_hadd_ps(half_sum(sum[2]), half_sum(sum[3])));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

// Scores to shares of one that add up to 1.
static void softmax(float *scores, int64_t count) {
    float most = -3e38f, total = 0;  // scores are finite
    for (int64_t t = 0; t < count; t++) most = fmaxf(most, scores[t]);
    for (int64_t t = 0; t < count; t++) scores[t] = exp_(scores[t] - most);
    for (int64_t t = 0; t < count; t++) total += scores[t];
    const float share = 1.0f / total;
    for (int64_t t = 0; t < count; t++) scores[t] *= share;
}

// to [dim] += shares [count] x values [count, dim], token after token; `n` vectors of a token at a time.
static inline __attribute__((always_inline)) void mix_part(
    const float *shares, const float *values, int64_t count, int64_t dim, int n, float *to) {
    Floats sum[8];
    for (int i = 0; i < n; i++) sum[i] = load(to + i * LANES);
    for (int64_t t = 0; t < count; t++) {
        const Floats share = splat(shares[t]);
        for (int i = 0; i < n; i++) sum[i] = fma_(share, load(values + t * dim + i * LANES), sum[i]);
    }
    for (int i = 0; i < n; i++) store(to + i * LANES, sum[i]);
}

static void mix(const float *shares, const float *values, int64_t count, int64_t dim, float *to) {
    int64_t d = 0;
    for (; d + 64 <= dim; d += 64) mix_part(shares, values + d, count, dim, 64 / LANES, to + d);
    for (; d < dim; d += 32) mix_part(shares, values + d, count, dim, 32 / LANES, to + d);
}

// softmax(q K^T / sqrt(dim)) V of some rows of one sequence, for the query heads that share one head of keys; rounded for
// the next product. Keys and values are read in blocks that stay in a core's cache while all queries pass over them.
static void attend(const void *with, int64_t task, int who) {
    const Pass *p = with;
    const Model *m = p->m;
    const int64_t dim = m->head_dim, kv = m->n_kv_heads, group = m->n_heads / kv, shared = task % kv;
    const int64_t first = p->tiles[task / kv], rows = p->tiles[task / kv + 1] - first;
    const int64_t *at = p->batch->positions + first, step = 2 * kv * dim, last = at[rows - 1] + 1;
    const uint16_t *keys = p->batch->caches[first] + p->index * p->batch->strides[first] + shared * dim;
    const float *heads = p->heads + first * (m->n_heads + 2 * kv) * dim + shared * group * dim;
    const float scale = 1.0f / sqrtf((float)dim);
    const int64_t pitch = p->longest + 3;
    float *scores = p->scores + who * ROWS_TOGETHER * group * pitch;
    float block[KEYS_TOGETHER * dim], found[rows * group * dim];
    memset(found, 0, sizeof found);
    for (int64_t start = 0; start < last; start += KEYS_TOGETHER) {
        widen(keys + start * step, least(KEYS_TOGETHER, last - start), step, dim, block);
        for (int64_t q = 0; q < rows * group; q++) {
            const float *query = heads + q / group * (m->n_heads + 2 * kv) * dim + q % group * dim;
            const int64_t seen = least(KEYS_TOGETHER, at[q / group] + 1 - start);
            // Up to three products with what lies behind the last key are overwritten or never looked at.
            for (int64_t t = 0; t < seen; t += 4)
                _mm_storeu_ps(scores + q * pitch + start + t,
                              _mm_mul_ps(four_dots(query, block + t * dim, dim), _mm_set1_ps(scale)));
        }
    }
    for (int64_t q = 0; q < rows * group; q++) softmax(scores + q * pitch, at[q / group] + 1);
    for (int64_t start = 0; start < last; start += KEYS_TOGETHER) {
        widen(keys + kv * dim + start * step, least(KEYS_TOGETHER, last - start), step, dim, block);
        for (int64_t q = 0; q < rows * group; q++)
            mix(scores + q * pitch + start, block, least(KEYS_TOGETHER, at[q / group] + 1 - start), dim, found + q * dim);
    }
    for (int64_t q = 0; q < rows * group; q++)
        for (int64_t g = 0; g < dim / GROUP; g++)
            round_group(found + q * dim + g * GROUP, p->mixed, first + q / group,
                        ((shared * group + q % group) * dim) / GROUP + g);
}

// Rows of one sequence that stand together, at most ROWS_TOGETHER: where each tile begins, and the end. Returns how many.
static int64_t tiles_of(const Batch *batch, int64_t *tiles) {
    int64_t count = 0;
    for (int64_t row = 0; row < batch->rows; row++) {
        const int same = row && batch->caches[row] == batch->caches[row - 1];
        if (!same || row - tiles[count - 1] == ROWS_TOGETHER) tiles[count++] = row;
    }
    tiles[count] = batch->rows;
    return count;
}
