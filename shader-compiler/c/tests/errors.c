// Wrong calls: prints what is wrong if the library reports it with a matching message.

#include <stdio.h>
#include <string.h>

#include "lightbound.h"

static void check(bool failed, char *error, const char *part, const char *what) {
    printf("%s\n", failed && error && strstr(error, part) ? what : error ? error : "no message");
    lightbound_free_text(error);
}

int main(void) {
    const char *source = "fn f(a: f32, b: f32) -> f32 { return a * b; }";
    const char *intervals[] = {"a"};
    LightboundOptions options = {.intervals = intervals, .interval_count = 1};
    char *error = NULL;

    LightboundFunction *f = lightbound_compile("f.wgsl", source, "g", &options, &error);
    check(!f, error, "f.wgsl", "no such function");

    f = lightbound_compile("f.wgsl", source, "f", &options, &error);
    if (!f || error || lightbound_input_count(f) != 2 || lightbound_output_count(f) != 1 ||
        strcmp(lightbound_input_name(f, 1), "b") || lightbound_input_name(f, 2)) {
        printf("the function does not compile\n");
        return 1;
    }
    const float low[] = {1.0f, 2.0f}, high[] = {2.0f, 3.0f};
    float lower[2], upper[2];
    float *lowers[] = {lower}, *uppers[] = {upper};

    LightboundInput one[] = {{"a", low, NULL, 2}};
    bool done = lightbound_evaluate(f, one, 1, lowers, 2, &error);
    check(!done, error, "`b`", "no value for an input");

    LightboundInput unknown[] = {{"a", low, NULL, 2}, {"c", low, NULL, 2}};
    done = lightbound_evaluate(f, unknown, 2, lowers, 2, &error);
    check(!done, error, "`c`", "an unknown input");

    LightboundInput lengths[] = {{"a", low, NULL, 2}, {"b", low, NULL, 2}};
    done = lightbound_evaluate(f, lengths, 2, lowers, 3, &error);
    check(!done, error, "3 rows", "columns of different lengths");

    LightboundInput boxes[] = {{"a", low, high, 2}, {"b", low, high, 2}};
    done = lightbound_bound(f, boxes, 2, lowers, uppers, 2, &error);
    check(!done, error, "`b` is a scalar", "an interval for a scalar");

    const LightboundTexture texture = {"t", 1, 1, 1, low};
    options.textures = &texture;
    options.texture_count = 1;
    LightboundFunction *g = lightbound_compile("f.wgsl", source, "f", &options, &error);
    check(!g, error, "`t`", "an unknown texture");

    g = lightbound_compile(NULL, source, "f", NULL, &error);
    check(!g, error, "null", "a null pointer");

    lightbound_free(f);
    return 0;
}
