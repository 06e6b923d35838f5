/* libascendcl.so: what the runtime says of errors. */
#include <string.h>
static char text[256];
void standin_say(const char *message) { strncpy(text, message, 255); }
const char *aclGetRecentErrMsg(void) { return text; }
