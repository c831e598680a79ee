/* Run the program with a PJRT plugin alone, without Python: ./load PLUGIN.so predict.stablehlo

   cc -O2 -I FOLDER_OF_PJRT_C_API_H load.c -ldl -o load                                              */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

static const PJRT_Api *api;

/* Call a function of the plugin, with an argument of its type and these fields; end if it reports an error. */
#define CALL(name, ...)                                                                      \
  PJRT_##name##_Args name = {.struct_size = PJRT_##name##_Args_STRUCT_SIZE, __VA_ARGS__};     \
  check(#name, api->PJRT_##name(&name))

static void check(const char *what, PJRT_Error *error) {
  if (error == NULL) return;
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = error};
  api->PJRT_Error_Message(&message);
  fprintf(stderr, "%s: %.*s\n", what, (int)message.message_size, message.message);
  exit(1);
}

static void wait_for(PJRT_Event *event) { CALL(Event_Await, .event = event); }

static char *content(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) perror(path), exit(1);
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  char *bytes = malloc(*size);
  if (fread(bytes, 1, *size, file) != *size) perror(path), exit(1);
  fclose(file);
  return bytes;
}

int main(int count, char **arguments) {
  if (count != 3) return fprintf(stderr, "%s PLUGIN.so PROGRAM.stablehlo\n", arguments[0]), 2;
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
  if (get == NULL) return fprintf(stderr, "%s is no PJRT plugin\n", arguments[1]), 1;
  api = get();

  CALL(Plugin_Initialize, .extension_start = NULL);
  CALL(Client_Create, .extension_start = NULL);
  CALL(Client_AddressableDevices, .client = Client_Create.client);

  /* CompileOptionsProto: executable_build_options (3) with device_ordinal (1) -1, num_replicas (4) 1 and
     num_partitions (5) 1. */
  const char options[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01";
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .format = "mlir", .format_size = 4};
  program.code = content(arguments[2], &program.code_size);
  CALL(Client_Compile, .client = Client_Create.client, .program = &program, .compile_options = options,
       .compile_options_size = sizeof options - 1);

  /* The plugin compares sizes only: shapes and dtypes are for the caller to get right. */
  float x[4][3], y[4][2];
  for (int i = 0; i < 12; i++) x[i / 3][i % 3] = i / 10.0f;
  const int64_t dims[] = {4, 3};
  CALL(Client_BufferFromHostBuffer, .client = Client_Create.client, .data = x, .type = PJRT_Buffer_Type_F32,
       .dims = dims, .num_dims = 2,
       .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
       .device = Client_AddressableDevices.addressable_devices[0]);
  wait_for(Client_BufferFromHostBuffer.done_with_host_buffer);

  PJRT_ExecuteOptions how = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_Buffer *given[] = {Client_BufferFromHostBuffer.buffer}, *made[1];
  PJRT_Buffer *const *const inputs[] = {given};
  PJRT_Buffer **const outputs[] = {made};
  PJRT_Event *done[1];
  CALL(LoadedExecutable_Execute, .executable = Client_Compile.executable, .options = &how,
       .argument_lists = inputs, .num_devices = 1, .num_args = 1, .output_lists = outputs,
       .device_complete_events = done);
  wait_for(done[0]);
  CALL(Buffer_ToHostBuffer, .src = made[0], .dst = y, .dst_size = sizeof y);
  wait_for(Buffer_ToHostBuffer.event);
  for (int i = 0; i < 4; i++) printf("%.7f %.7f\n", y[i][0], y[i][1]);
  return 0;
}
