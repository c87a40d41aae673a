/* Calls a kernel in a Windows library as Python would, without Python: `test_cross.py` runs it under Wine.

   entry_point.exe LIBRARY SYMBOL, where SYMBOL is the entry point of the kernel "descent": arguments start,
   stop, var, grad, rate; it is to do var[start:stop] -= rate * grad[start:stop]. The compiler is given
   AT_NAME for each name of `calling.PYTHON`, its place in the table, and their number as PLACES. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

enum { COUNT = 1003, FIRST = 3, LAST = 1000, FLOAT32 = 11, C_ALIGNED = 0x101, WRITEABLE = 0x400 };

typedef struct {
  int64_t references;
  void *type;
  int64_t whole;
  double real;
} Number;

typedef void *(*Entry)(void *, void **, int64_t);

static int64_t none, type_error, memory_error, array_type, thread;
static int held, given, taken;
static void *raised;
static const char *said = "";
static char descr[64];
static float var[COUNT], grad[COUNT];

static void set_string(void *error, const char *message) { raised = error, said = message; }
static void *occurred(void) { return 0; }
static int64_t as_long(Number *number) { return number->whole; }
static double as_double(Number *number) { return number->real; }
static void hold(void *object) { held += object == &none; }
static void *give(void) { return given++, &thread; }
static void take(void *state) { taken += state == &thread; }

/* The fields of a NumPy array at the offsets that `calling` has. */
static void set_array(char *array, float *data, int64_t *sizes, int64_t *steps) {
  memset(array, 0, 96);
  *(void **)(array + 8) = &array_type;
  *(void **)(array + 16) = data;
  *(int *)(array + 24) = 1;
  *(void **)(array + 32) = sizes;
  *(void **)(array + 40) = steps;
  *(void **)(array + 56) = descr;
  *(int *)(array + 64) = C_ALIGNED | WRITEABLE;
}

int main(int count, char **words) {
  HMODULE library = count == 3 ? LoadLibraryA(words[1]) : 0;
  char name[200];
  if (!library) return printf("no library: %lu\n", GetLastError()), 1;
  snprintf(name, sizeof name, "%s_python", words[2]);
  void **table = (void **)GetProcAddress(library, name);
  Entry entry = (Entry)GetProcAddress(library, words[2]);
  if (!table || !entry) return printf("no symbol %s\n", words[2]), 1;
  memset(table, 0, PLACES * sizeof *table);
  table[AT_None] = &none;
  table[AT_TypeError] = &type_error;
  table[AT_MemoryError] = &memory_error;
  table[AT_PyErr_SetString] = set_string;
  table[AT_PyErr_Occurred] = occurred;
  table[AT_PyLong_AsLongLong] = as_long;
  table[AT_PyFloat_AsDouble] = as_double;
  table[AT_Py_IncRef] = hold;
  table[AT_PyEval_SaveThread] = give;
  table[AT_PyEval_RestoreThread] = take;

  descr[26] = '=';
  *(int *)(descr + 28) = FLOAT32;
  for (int i = 0; i < COUNT; i++) var[i] = i, grad[i] = 2 * i;
  int64_t sizes[] = {COUNT}, steps[] = {sizeof(float)};
  char first[96], second[96];
  set_array(first, var, sizes, steps);
  set_array(second, grad, sizes, steps);
  Number start = {0, 0, FIRST, 0}, stop = {0, 0, LAST, 0}, rate = {0, 0, 0, 0.25};
  void *arguments[] = {&start, &stop, first, second, &rate};

  if (entry(&array_type, arguments, 5) != &none || held != 1) return printf("not None\n"), 1;
  if (given != 1 || taken != 1) return printf("the lock: %d, %d\n", given, taken), 1;
  for (int i = 0; i < COUNT; i++)
    if (var[i] != (i >= FIRST && i < LAST ? 0.5f * i : i)) return printf("[%d]: %g\n", i, var[i]), 1;
  if (entry(&array_type, arguments, 4) || raised != &type_error) return printf("no error\n"), 1;
  printf("%s\n", said);
  raised = 0;
  *(int *)(first + 64) = C_ALIGNED;
  if (entry(&array_type, arguments, 5) || raised != &type_error) return printf("no error\n"), 1;
  printf("%s\n", said);
  return 0;
}
