/* Ring buffer.
 *
 * 環状バッファ。
 */
#include <stdio.h>
#include "ring.h"

#define RING_SIZE 64
#define RING_NEXT(i) (((i) + 1) % RING_SIZE)
#define RING_GUARD

/* A node. */
typedef struct node {
    int value;
    struct node *next;
} node_t;

typedef struct {
    int head, tail;
} ring_t;

typedef int (*compare_fn)(const void *, const void *);
typedef unsigned long word;

union either { int i; float f; };

enum colour { RED, GREEN };

struct device {
    const char *name;
    int (*open)(struct device *);
};

static int counter = 0;
const char *names[] = { "a", "日本" };
int (*handler)(int);
extern int elsewhere;

static int helper(int a);
int ring_push(ring_t *r, int v);

/* Helps. Really. */
static int
helper(int a)
{
    int local = a;
    return local;
}

#ifdef WITH_POP
char *ring_name(const ring_t *r) { return "ring"; }
#endif

void (*signal_of(int sig, void (*func)(int)))(int)
{
    return func;
}
