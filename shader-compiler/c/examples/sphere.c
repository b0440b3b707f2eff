// Bounds the distance to a sphere over two boxes, and evaluates it in them.

#include <stdio.h>

#include "lightbound.h"

static const char *SOURCE =
    "struct Params {\n"
    "    /// range: [0, 10], default: 1\n"
    "    radius: f32,\n"
    "}\n"
    "fn sdf(/** range: [-10, 10] */ p: vec3f, m: Params) -> f32 {\n"
    "    return length(p) - m.radius;\n"
    "}\n";

int main(void) {
    char *error = NULL;
    const char *intervals[] = {"p"};
    LightboundOptions options = {.intervals = intervals, .interval_count = 1};
    LightboundFunction *sdf = lightbound_compile("sphere.wgsl", SOURCE, "sdf", &options, &error);
    if (!sdf) {
        fprintf(stderr, "%s\n", error);
        lightbound_free_text(error);
        return 1;
    }
    // Two boxes, each from `low` to `high` on every axis. The radius has its default.
    const float low[] = {1.0f, 0.25f}, high[] = {2.0f, 0.75f};
    const LightboundInput boxes[] = {
        {"p.x", low, high, 2}, {"p.y", low, high, 2}, {"p.z", low, high, 2}};
    float lower[2], upper[2], values[2];
    float *lower_columns[] = {lower}, *upper_columns[] = {upper}, *value_columns[] = {values};
    // The corners `low`.
    const LightboundInput points[] = {
        {"p.x", low, NULL, 2}, {"p.y", low, NULL, 2}, {"p.z", low, NULL, 2}};
    if (!lightbound_bound(sdf, boxes, 3, lower_columns, upper_columns, 2, &error) ||
        !lightbound_evaluate(sdf, points, 3, value_columns, 2, &error)) {
        fprintf(stderr, "%s\n", error);
        lightbound_free_text(error);
        lightbound_free(sdf);
        return 1;
    }
    for (int k = 0; k < 2; k++) {
        printf("%g <= %g <= %g\n", lower[k], values[k], upper[k]);
    }
    lightbound_free(sdf);
    return 0;
}
