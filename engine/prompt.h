// A layer for a piece of a prompt: products in bf16 (wide.h), and attention as two such products a block of keys.

#pragma once

#include "attention.h"
#include "wide.h"

#ifdef WIDE
#define QUERIES 6   // times four vectors of sums
#define BLOCK_KEYS 64

// A sequence of the batch: its first row, how many of its tokens there are with the new ones, filled up to whole blocks, and
// where they begin among the packed ones.
typedef struct {
    int64_t row, tokens, padded, at;
} Sequence;

typedef struct {
    Pass *p;
    Bf16 *in, *mixed, *inner, *panel;  // rows of activations; two widened panels a thread
    Bf16 *keys;    // of each sequence [n_kv_heads][block][dim / 2][64 tokens][2]
    Bf16 *values;  // of each sequence [n_kv_heads][padded / 2][dim][2]
    Sequence *sequences;
    int64_t n_sequences, n_tokens, *tile_sequence;
} Piece;

// RMSNorm of the rows of a tile, as bf16.
static void norm_wide(const Piece *piece, const float *gain, int64_t tile) {
    const int64_t hidden = piece->p->m->hidden;
    for (int64_t row = piece->p->tiles[tile]; row < piece->p->tiles[tile + 1]; row++) {
        const float *from = piece->p->x + row * hidden;
        const __m512 share = splat(1.0f / size_of(from, hidden, piece->p->m->floor));
        for (int64_t i = 0; i < hidden; i += 16)
            store_bf16(piece->in + row * hidden + i, times(times(load(from + i), share), load(gain + i)));
    }
}

static void norm_wide_before_attention(const void *with, int64_t tile, int who) {
    const Piece *piece = with;
    (void)who;
    norm_wide(piece, piece->p->m->layers[piece->p->index].attn_gain, tile);
}

static void norm_wide_before_mlp(const void *with, int64_t tile, int who) {
    const Piece *piece = with;
    (void)who;
    norm_wide(piece, piece->p->m->layers[piece->p->index].mlp_gain, tile);
}

// Lays a block of a sequence's keys and values out for products: pairs of dimensions, pairs of tokens side by side.
static void pack(const void *with, int64_t task, int who) {
    const Piece *piece = with;
    const Pass *p = piece->p;
    const int64_t kv = p->m->n_kv_heads, dim = p->m->head_dim, head = task % kv, step = kv * dim;  // in pairs of values
    const Sequence *s = piece->sequences;
    while (s + 1 < piece->sequences + piece->n_sequences && (s + 1)->at <= task / kv * BLOCK_KEYS) s++;
    const int64_t start = task / kv * BLOCK_KEYS - s->at, count = least(BLOCK_KEYS, s->tokens - start);
    const Couple *from = (const Couple *)(p->batch->caches[s->row] + p->index * p->batch->strides[s->row] + head * dim);
    Couple *keys = (Couple *)(piece->keys + (s->at * kv + head * s->padded + start) * dim);
    Bf16 *values = piece->values + (s->at * kv + head * s->padded + start) * dim;
    (void)who;
    for (int64_t t = 0; t < BLOCK_KEYS; t++)
        for (int64_t d = 0; d < dim / 2; d++) keys[d * BLOCK_KEYS + t] = t < count ? from[(start + t) * step + d] : 0;
    for (int64_t t = 0; t < BLOCK_KEYS; t += 2) {
        const Bf16 *even = (const Bf16 *)(from + (start + t) * step) + kv * dim, *odd = even + 2 * step;
        for (int64_t d = 0; d < dim; d++) {
            values[t * dim + 2 * d] = t < count ? even[d] : 0;
            values[t * dim + 2 * d + 1] = t + 1 < count ? odd[d] : 0;
        }
    }
}

#define SUMS_CASE(count) \
    case count: sums(count, n, a, from, b, line, pairs, to); break;
static inline __attribute__((always_inline)) void sums_of(
    int count, int n, const Bf16 *a, int64_t from, const Bf16 *b, int64_t line, int64_t pairs, Floats to[][4]) {
    switch (count) { SUMS_CASE(1) SUMS_CASE(2) SUMS_CASE(3) SUMS_CASE(4) SUMS_CASE(5) SUMS_CASE(6) }
}

// Scores of up to six queries with a block of keys: scores [count][64], rows `pitch` apart.
static __attribute__((noinline)) void score(
    int count, const Bf16 *queries, int64_t dim, const Bf16 *keys, float *scores, int64_t pitch) {
    Floats found[QUERIES][4];
    sums_of(count, 4, queries, dim, keys, 2 * BLOCK_KEYS, dim / 2, found);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < 4; i++) store(scores + t * pitch + 16 * i, found[t][i]);
}

// Scores of the first `count` of `padded` keys to e^(scale (score - greatest)) in bf16, written over them; 0 for the others.
// Returns their sum.
static float powers(float *scores, int64_t count, int64_t padded, float scale) {
    __m512 most = splat(-3e38f), total = zero_floats();
    for (int64_t t = 0; t < count; t += 16) {
        const __mmask16 seen = count - t >= 16 ? 0xffff : (__mmask16)((1u << (count - t)) - 1);
        most = _mm512_mask_max_ps(most, seen, most, load(scores + t));
    }
    const __m512 greatest = splat(_mm512_reduce_max_ps(most));
    for (int64_t t = 0; t < padded; t += 16) {
        const __mmask16 seen = count - t >= 16 ? 0xffff : count > t ? (__mmask16)((1u << (count - t)) - 1) : 0;
        const __m512 x = times(_mm512_sub_ps(load(scores + t), greatest), splat(scale));
        const __m512 e = _mm512_maskz_mov_ps(seen, exps(_mm512_max_ps(x, splat(-87.0f))));
        total = _mm512_add_ps(total, e);
        store_bf16((Bf16 *)scores + t, e);
    }
    return _mm512_reduce_add_ps(total);
}

// Up to six queries' mixture of values, `n` vectors of dimensions: to [count][16 n] rows `pitch` apart.
static inline __attribute__((always_inline)) void mix_wide_part(
    int count, int n, const Bf16 *shares, int64_t from, const Bf16 *values, int64_t dim, int64_t pairs, const float *totals,
    Bf16 *const *to) {
    Floats found[QUERIES][4];
    sums_of(count, n, shares, from, values, 2 * dim, pairs, found);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < n; i++) store_bf16(to[t] + 16 * i, times(found[t][i], splat(1.0f / totals[t])));
}

static __attribute__((noinline)) void mix_wide(
    int count, const Bf16 *shares, int64_t from, const Bf16 *values, int64_t dim, int64_t pairs, const float *totals, Bf16 **to) {
    int64_t d = 0;
    for (; d + 64 <= dim; d += 64) {
        mix_wide_part(count, 4, shares, from, values + 2 * d, dim, pairs, totals, to);
        for (int t = 0; t < count; t++) to[t] += 64;
    }
    if (d < dim) mix_wide_part(count, 2, shares, from, values + 2 * d, dim, pairs, totals, to);
}

// softmax(q K^T / sqrt(dim)) V of some rows of one sequence, for the query heads that share one head of keys.
static void attend_wide(const void *with, int64_t task, int who) {
    const Piece *piece = with;
    const Pass *p = piece->p;
    const Model *m = p->m;
    const int64_t dim = m->head_dim, kv = m->n_kv_heads, group = m->n_heads / kv, shared = task % kv, tile = task / kv;
    const int64_t first = p->tiles[tile], n = (p->tiles[tile + 1] - first) * group, pitch = p->longest;
    const Sequence *s = piece->sequences + piece->tile_sequence[tile];
    const int64_t *at = p->batch->positions + first, last = at[n / group - 1] + 1;
    const int64_t padded = (last + BLOCK_KEYS - 1) / BLOCK_KEYS * BLOCK_KEYS;
    const Bf16 *keys = piece->keys + (s->at * kv + shared * s->padded) * dim;
    const Bf16 *values = piece->values + (s->at * kv + shared * s->padded) * dim;
    float *scores = p->scores + who * ROWS_TOGETHER * group * pitch;
    Bf16 queries[n * dim];
    for (int64_t q = 0; q < n; q++) {
        const float *own = p->heads + ((first + q / group) * (m->n_heads + 2 * kv) + shared * group + q % group) * dim;
        for (int64_t d = 0; d < dim; d += 16) store_bf16(queries + q * dim + d, load(own + d));
    }
    for (int64_t start = 0; start < padded; start += BLOCK_KEYS)
        for (int64_t q = 0; q < n; q += QUERIES)
            score((int)least(QUERIES, n - q), queries + q * dim, dim, keys + start * dim, scores + q * pitch + start, pitch);
    for (int64_t q = 0; q < n; q += QUERIES) {
        const int count = (int)least(QUERIES, n - q);
        float totals[QUERIES];
        Bf16 *to[QUERIES];
        for (int t = 0; t < count; t++) {
            totals[t] = powers(scores + (q + t) * pitch, at[(q + t) / group] + 1, padded, 1.0f / sqrtf((float)dim));
            to[t] = piece->mixed + ((first + (q + t) / group) * m->n_heads + shared * group + (q + t) % group) * dim;
        }
        mix_wide(count, (Bf16 *)(scores + q * pitch), 2 * pitch, values, dim, padded / 2, totals, to);
    }
}

static void layer_of_piece(Piece *piece, int together) {
    Pass *p = piece->p;
    const Layer *layer = p->m->layers + p->index;
    const int64_t rows = p->rows, kv = p->m->n_kv_heads;
    share(together, norm_wide_before_attention, piece, p->n_tiles);
    product_wide(together, wide_of(&layer->qkv, piece->in, rows, panels_of(&layer->qkv), piece->panel, p->lowered), p->heads, 0);
    share(together, place, p, rows);
    share(together, pack, piece, piece->n_tokens / BLOCK_KEYS * kv);
    share(together, attend_wide, piece, p->n_tiles * kv);
    product_wide(together, wide_of(&layer->out, piece->mixed, rows, panels_of(&layer->out), piece->panel, p->lowered), p->x, 1);
    share(together, norm_wide_before_mlp, piece, p->n_tiles);
    Wide gated = wide_of(&layer->gate_up, piece->in, rows, p->m->intermediate / PANEL, piece->panel, p->lowered);
    gated.inner = piece->inner;
    if (gated.w->low.rank) share(together, lower_wide, &gated, rows);
    share(together, gate_wide, &gated, gated.panels * gated.blocks);
    product_wide(together, wide_of(&layer->down, piece->inner, rows, panels_of(&layer->down), piece->panel, p->lowered), p->x, 1);
}

// Which rows belong to which sequence, and where its keys go.
static void find_sequences(Piece *piece) {
    const Batch *batch = piece->p->batch;
    for (int64_t row = 0; row < batch->rows; row++) {
        if (!row || batch->caches[row] != batch->caches[row - 1])
            piece->sequences[piece->n_sequences++] = (Sequence){.row = row, .at = piece->n_tokens};
        Sequence *s = piece->sequences + piece->n_sequences - 1;
        s->tokens = batch->positions[row] + 1;
        s->padded = (s->tokens + BLOCK_KEYS - 1) / BLOCK_KEYS * BLOCK_KEYS;
        piece->n_tokens = s->at + s->padded;
    }
    for (int64_t tile = 0, s = 0; tile < piece->p->n_tiles; tile++) {
        while (s + 1 < piece->n_sequences && piece->sequences[s + 1].row <= piece->p->tiles[tile]) s++;
        piece->tile_sequence[tile] = s;
    }
}
#endif
