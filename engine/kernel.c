// The forward pass of a Llama-family decoder with 4-bit or 8-bit weights: what happens in a layer, and in which order.
// engine/kernel.py compiles it, engine/panels.py and engine/fused.py call it; engine/decoder.py has the same pass in plain torch.

#include "attention.h"
#include "prompt.h"

// RMSNorm of a row, rounded for the next product.
static void norm_row(const float *x, const float *gain, float floor, int64_t row, Rounded to) {
    const float *from = x + row * to.k;
    const float size = size_of(from, to.k, floor);
    for (int64_t g = 0; g < to.k / GROUP; g++) {
        float part[GROUP];
        for (int i = 0; i < GROUP; i++) part[i] = from[g * GROUP + i] / size * gain[g * GROUP + i];
        round_group(part, to, row, g);
    }
}

static void norm_before_attention(const void *with, int64_t row, int who) {
    const Pass *p = with;
    (void)who;
    norm_row(p->x, p->m->layers[p->index].attn_gain, p->m->floor, row, p->in);
}

static void norm_before_mlp(const void *with, int64_t row, int who) {
    const Pass *p = with;
    (void)who;
    norm_row(p->x, p->m->layers[p->index].mlp_gain, p->m->floor, row, p->in);
}

static void norm_at_the_end(const void *with, int64_t row, int who) {
    const Pass *p = with;
    float *own = p->x + row * p->m->hidden;
    const float size = size_of(own, p->m->hidden, p->m->floor);
    (void)who;
    for (int64_t i = 0; i < p->m->hidden; i++) own[i] = own[i] / size * p->m->gain[i];
}

// silu(gate) up, rounded for the last product of a layer.
static void gate(const void *with, int64_t task, int who) {
    const Product *p = with;
    const int64_t block = task % p->blocks, first = task / p->blocks * p->together;
    const int64_t end = least(p->rows, (block + 1) * BLOCK_ROWS);
    (void)who;
    for (int64_t index = first; index < least(p->panels, first + p->together); index++)
        for (int64_t row = block * BLOCK_ROWS; row < end; row += TILE) {
            const int count = (int)least(TILE, end - row);
            float gates[TILE][PANEL], ups[TILE][PANEL];
            one_panel(p->w, index, p->x, row, count, p->lowered, gates);
            one_panel(p->w, p->panels + index, p->x, row, count, p->lowered, ups);
            for (int t = 0; t < count; t++) {
                for (int i = 0; i < PANEL; i++) gates[t][i] = silu(gates[t][i]) * ups[t][i];
                round_group(gates[t], p->to, row + t, index);
            }
        }
}

static void layer_of(Pass *p, int together) {
    const Layer *layer = p->m->layers + p->index;
    const int64_t rows = p->rows, threads = p->threads;
    share(together, norm_before_attention, p, rows);
    product(together, product_of(&layer->qkv, p->in, rows, panels_of(&layer->qkv), threads, p->lowered), p->heads, 0);
    share(together, place, p, rows);
    share(together, attend, p, p->n_tiles * p->m->n_kv_heads);
    product(together, product_of(&layer->out, p->mixed, rows, panels_of(&layer->out), threads, p->lowered), p->x, 1);
    share(together, norm_before_mlp, p, rows);
    Product gated = product_of(&layer->gate_up, p->in, rows, p->m->intermediate / PANEL, threads, p->lowered);
    gated.to = p->inner;
    if (gated.w->low.rank) share(together, lower, &gated, rows);
    share(together, gate, &gated, tasks(&gated));
    product(together, product_of(&layer->down, p->inner, rows, panels_of(&layer->down), threads, p->lowered), p->x, 1);
}

typedef struct {
    const float *x;
    Rounded to;
} Rows;

static void round_row(const void *with, int64_t row, int who) {
    const Rows *r = with;
    (void)who;
    for (int64_t g = 0; g < r->to.k / GROUP; g++) round_group(r->x + row * r->to.k + g * GROUP, r->to, row, g);
}

// True where many rows at a time are multiplied in bf16: the processor must have such products.
int kernel_wide(void) {
#ifdef WIDE
    return 1;
#else
    return 0;
#endif
}

#ifdef WIDE
typedef struct {
    const float *x;
    Bf16 *to;
    int64_t k;
} Narrowed;

static void narrow_row(const void *with, int64_t row, int who) {
    const Narrowed *r = with;
    (void)who;
    for (int64_t i = 0; i < r->k; i += 16) store_bf16(r->to + row * r->k + i, load(r->x + row * r->k + i));
}

static Bf16 *panels_to_widen(int64_t threads, int64_t k) { return malloc(threads * 4 * PANEL * (k / 2) * sizeof(Bf16)); }

static int multiply_many(const Matrix *w, const float *x, int64_t rows, float *y, int64_t threads) {
    const Narrowed given = {x, malloc(rows * w->k * sizeof(Bf16)), w->k};
    Bf16 *panel = panels_to_widen(threads, w->k);
    const int short_of_memory = !given.to || !panel;
    if (!short_of_memory) {
        const int together = gather(threads);
        share(together, narrow_row, &given, rows);
        product_wide(together, wide_of(w, given.to, rows, panels_of(w), panel, NULL), y, 0);
        dismiss(together);
    }
    free(given.to);
    free(panel);
    return short_of_memory;
}
#endif

// y [rows, n] = x W^T + bias for x [rows, k]; more than `few` rows in bf16 where the processor can. Returns 0, or 1 when memory
// is short.
int kernel_product(const Matrix *w, const float *x, int64_t rows, int64_t few, float *y, int64_t threads) {
#ifdef WIDE
    if (rows > few) return multiply_many(w, x, rows, y, threads);
#endif
    const Rows given = {x, rounded(rows, w->k)};
    (void)few;
    if (!given.to.q) return 1;
    const int together = gather(threads);
    share(together, round_row, &given, rows);
    product(together, product_of(w, given.to, rows, panels_of(w), threads, NULL), y, 0);
    dismiss(together);
    free(given.to.q);
    return 0;
}

// Through the layers with few rows: weights as the file has them, activations in 16-bit integers. Returns 0, or 1 when memory is
// short.
static int few_rows(Pass *p) {
    const Model *m = p->m;
    p->in = rounded(p->rows, m->hidden);
    p->mixed = rounded(p->rows, m->n_heads * m->head_dim);
    p->inner = rounded(p->rows, m->intermediate);
    const int short_of_memory = !p->in.q || !p->mixed.q || !p->inner.q;
    if (!short_of_memory) {
        const int together = gather(m->threads);
        for (p->index = 0; p->index < m->n_layers; p->index++) layer_of(p, together);
        share(together, norm_at_the_end, p, p->rows);
        dismiss(together);
    }
    free(p->in.q);
    free(p->mixed.q);
    free(p->inner.q);
    return short_of_memory;
}

#ifdef WIDE
// The same with many.
static int many_rows(Pass *p) {
    const Model *m = p->m;
    const int64_t rows = p->rows, width = m->n_heads * m->head_dim;
    const int64_t widest = m->intermediate > m->hidden ? m->intermediate : m->hidden;
    Piece piece = {.p = p};
    piece.sequences = malloc(rows * sizeof(Sequence));
    piece.tile_sequence = malloc(rows * sizeof(int64_t));
    piece.in = malloc(rows * m->hidden * sizeof(Bf16));
    piece.mixed = malloc(rows * width * sizeof(Bf16));
    piece.inner = malloc(rows * m->intermediate * sizeof(Bf16));
    piece.panel = panels_to_widen(m->threads, widest > width ? widest : width);
    int short_of_memory = !piece.sequences || !piece.tile_sequence;
    if (!short_of_memory) {
        find_sequences(&piece);
        piece.keys = malloc(2 * piece.n_tokens * m->n_kv_heads * m->head_dim * sizeof(Bf16));
        piece.values = piece.keys + piece.n_tokens * m->n_kv_heads * m->head_dim;
        short_of_memory = !piece.in || !piece.mixed || !piece.inner || !piece.panel || !piece.keys;
    }
    if (!short_of_memory) {
        const int together = gather(m->threads);
        for (p->index = 0; p->index < m->n_layers; p->index++) layer_of_piece(&piece, together);
        share(together, norm_at_the_end, p, rows);
        dismiss(together);
    }
    void *const all[] = {piece.sequences, piece.tile_sequence, piece.in, piece.mixed, piece.inner, piece.panel, piece.keys};
    for (int i = 0; i < 7; i++) free(all[i]);
    return short_of_memory;
}
#endif

// x [rows, hidden]: the embedded tokens going in, the last norm's hidden states coming out; keys and values are written.
// Returns 0, or 1 when memory is short.
int kernel_forward(const Model *m, const Batch *batch, float *x) {
    const int64_t rows = batch->rows, dim = m->head_dim;
    int64_t longest = 0;
    for (int64_t row = 0; row < rows; row++)
        if (batch->positions[row] >= longest) longest = batch->positions[row] + 1;
    longest = (longest + 63) / 64 * 64;
    Pass p = {.m = m, .batch = batch, .rows = rows, .threads = m->threads, .longest = longest, .x = x};
    p.heads = malloc(rows * (m->n_heads + 2 * m->n_kv_heads) * dim * sizeof(float));
    p.scores = malloc(m->threads * ROWS_TOGETHER * (m->n_heads / m->n_kv_heads) * (longest + 3) * sizeof(float));
    p.tiles = malloc((rows + 1) * sizeof(int64_t));
    p.lowered = malloc((rows * m->rank + 1) * sizeof(float));
    int short_of_memory = !p.heads || !p.scores || !p.tiles || !p.lowered;
    if (!short_of_memory) {
        p.n_tiles = tiles_of(batch, p.tiles);
#ifdef WIDE
        short_of_memory = rows > m->few ? many_rows(&p) : few_rows(&p);
#else
        short_of_memory = few_rows(&p);
#endif
    }
    free(p.heads);
    free(p.scores);
    free(p.tiles);
    free(p.lowered);
    return short_of_memory;
}
