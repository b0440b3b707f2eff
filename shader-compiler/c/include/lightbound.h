// The C interface of Lightbound's shader compiler: compiles any function in WGSL, evaluates it, and
// bounds it over boxes of inputs. Generated from src/lib.rs; docs/library.md has an example.

#ifndef LIGHTBOUND_H
#define LIGHTBOUND_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A compiled function. Any number of threads may use it at a time.
typedef struct LightboundFunction LightboundFunction;

// An image that a function reads.
typedef struct LightboundTexture {
  // Name of the texture in the shader.
  const char *name;
  // Number of columns, from 1 to 2^23.
  size_t width;
  // Number of rows, from 1 to 2^23.
  size_t height;
  // Number of channels: 1, 3 or 4.
  size_t channels;
  // `width * height * channels` linear values, row by row.
  const float *texels;
} LightboundTexture;

// How to compile a function. Zero all members for the defaults.
typedef struct LightboundOptions {
  // Names of the inputs that are intervals when bounding, such as `p` or `p.x`. Null: all.
  const char *const *intervals;
  // Number of elements of `intervals`.
  size_t interval_count;
  // Names of the inputs by which to differentiate all float outputs. May be null.
  const char *const *gradient;
  // Number of elements of `gradient`.
  size_t gradient_count;
  // The textures of the shader. May be null.
  const struct LightboundTexture *textures;
  // Number of elements of `textures`.
  size_t texture_count;
} LightboundOptions;

// The values of an input, for each row of a batch or for all rows.
typedef struct LightboundInput {
  // Name of the input, as `lightbound_input_name` returns it.
  const char *name;
  // Lower endpoints, or values.
  const float *low;
  // Upper endpoints. Null: equal to `low`.
  const float *high;
  // Number of values: the number of rows, or 1 for a value that all rows have.
  size_t length;
} LightboundInput;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Compiles the function called `function` of a shader in WGSL. `name` is a file name for messages.
// `options` may be null. Returns null on errors.
//
// # Safety
// All strings end with a null byte. Arrays have the stated number of elements. `error` is null or
// points to a pointer.
struct LightboundFunction *lightbound_compile(const char *name,
                                              const char *source,
                                              const char *function,
                                              const struct LightboundOptions *options,
                                              char **error);

// Frees a function. Null is allowed.
//
// # Safety
// `function` is from `lightbound_compile`, and is not used any more.
void lightbound_free(struct LightboundFunction *function);

// Frees a message. Null is allowed.
//
// # Safety
// `text` is a message from this library, and is not used any more.
void lightbound_free_text(char *text);

// Number of inputs: components of the arguments, then of the parameters.
//
// # Safety
// `function` is from `lightbound_compile`.
size_t lightbound_input_count(const struct LightboundFunction *function);

// Name of an input, such as `p.x`; null if `index` is not below the number of inputs. It is valid
// as long as the function.
//
// # Safety
// `function` is from `lightbound_compile`.
const char *lightbound_input_name(const struct LightboundFunction *function, size_t index);

// Number of outputs: components of the result, then their derivatives.
//
// # Safety
// `function` is from `lightbound_compile`.
size_t lightbound_output_count(const struct LightboundFunction *function);

// Name of an output; null if `index` is not below the number of outputs. It is valid as long as
// the function.
//
// # Safety
// `function` is from `lightbound_compile`.
const char *lightbound_output_name(const struct LightboundFunction *function, size_t index);

// Evaluates rows of inputs. `outputs` has a column of `rows` values for each output. Inputs
// without a column have their defaults. Integers and bools are passed as floats. Returns whether
// it succeeded.
//
// # Safety
// `function` is from `lightbound_compile`. Strings end with a null byte. Arrays have the stated
// number of elements; those of `outputs` do not overlap any other. `error` is null or points to a
// pointer.
bool lightbound_evaluate(const struct LightboundFunction *function,
                         const struct LightboundInput *inputs,
                         size_t input_count,
                         float *const *outputs,
                         size_t rows,
                         char **error);

// Bounds the function over boxes. `lower` and `upper` have a column of `rows` bounds for each
// output: whatever `lightbound_evaluate` returns for a member of a box lies between them. Returns
// whether it succeeded.
//
// # Safety
// As for `lightbound_evaluate`.
bool lightbound_bound(const struct LightboundFunction *function,
                      const struct LightboundInput *inputs,
                      size_t input_count,
                      float *const *lower,
                      float *const *upper,
                      size_t rows,
                      char **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LIGHTBOUND_H */
