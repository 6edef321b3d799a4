// A generator process for very many clients, each of which should cost the machine little more than its socket. It holds up
// to 19,500 Socket.IO clients on namespace "/" over WebSocket, all in one room. Orders are lines of JSON on the standard
// input, answers lines on the standard output, as `harness/process/child.js` says; what clients say is what `client.js` says.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST 20000
#define FIRST_PORT 10000
#define TEXT "thirty characters of text here"
#define UPPER "THIRTY CHARACTERS OF TEXT HERE"
#define STAMP 15

enum { CONNECTING, UPGRADING, OPENING, JOINING, JOINED, GONE };

struct client {
  int fd;
  uint8_t state;
  uint16_t carried;
  char *carry; // the beginning of a frame that a read has cut off
  int64_t sent;
};

// The same buckets as in histogram.js.
#define BUCKETS 1050
struct histogram {
  double count, sum, max, buckets[BUCKETS];
};

static struct client clients[MOST];
static int next_port = FIRST_PORT;
static int count, opened, ready, in_flight, epoll, open_id = -1;
static struct sockaddr_in server, source;
static int64_t began, period;
static uint64_t fired;
static double sent, received, reached, pings, ended, refused, errors;
static struct histogram latency, reach;
static char bytes[256 * 1024];

static int64_t micros(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000LL + at.tv_nsec / 1000;
}

static void record(struct histogram *h, double ms) {
  int bucket = ms <= 0.001 ? 0 : (int)ceil(log(ms / 0.001) / log(1.02));
  h->count++;
  h->sum += ms;
  if (ms > h->max) h->max = ms;
  h->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

static void print_histogram(const char *name, struct histogram *h) {
  printf("\"%s\":{\"count\":%.0f,\"sum\":%f,\"max\":%f,\"used\":[", name, h->count, h->sum, h->max);
  const char *comma = "";
  for (int i = 0; i < BUCKETS; i++)
    if (h->buckets[i] > 0) {
      printf("%s[%d,%.0f]", comma, i, h->buckets[i]);
      comma = ",";
    }
  printf("]}");
  memset(h, 0, sizeof *h);
}

static void leave(struct client *c, int was_ready) {
  close(c->fd);
  free(c->carry);
  c->carry = NULL;
  c->carried = 0;
  c->state = GONE;
  if (was_ready) ended++;
  else refused++, in_flight--;
}

static void write_all(struct client *c, const void *data, size_t length) {
  // What does not fit into an empty send buffer of a few bytes at a time is a connection that is stuck.
  if (send(c->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length) leave(c, c->state == JOINED);
}

static void say(struct client *c, const char *text) {
  static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
  uint8_t frame[256];
  size_t length = strlen(text), header = length < 126 ? 2 : 4;
  frame[0] = 0x81;
  frame[1] = 0x80 | (length < 126 ? length : 126);
  if (header == 4) frame[2] = length >> 8, frame[3] = length & 255;
  memcpy(frame + header, mask, 4);
  for (size_t i = 0; i < length; i++) frame[header + 4 + i] = text[i] ^ mask[i & 3];
  write_all(c, frame, header + 4 + length);
}

static void on_message(struct client *c, const char *text, size_t length) {
  static const char answer[] = "42[\"upper\",\"" UPPER "\"]", message[] = "42[\"message\",\"";
  if (length == 1 && *text == '2') {
    pings++;
    say(c, "3");
  } else if (*text == '0') {
    say(c, "40");
  } else if (length > 1 && !memcmp(text, "40", 2)) {
    c->state = JOINING;
    say(c, "420[\"join\",\"all\"]");
  } else if (length > 2 && !memcmp(text, "430", 3)) {
    c->state = JOINED;
    ready++;
    in_flight--;
  } else if (length == sizeof answer - 1 && !memcmp(text, answer, length)) {
    received++;
    record(&latency, (micros() - c->sent) / 1000.0);
  } else if (length > sizeof message + STAMP && !memcmp(text, message, sizeof message - 1)) {
    reached++;
    record(&reach, (micros() - atoll(text + sizeof message - 1)) / 1000.0);
  } else {
    errors++;
  }
}

// Reads the frames that are there in full, and returns how many bytes they take.
static size_t read_frames(struct client *c, const char *data, size_t length) {
  size_t at = 0;
  while (length - at >= 2 && c->state != GONE) {
    size_t size = (uint8_t)data[at + 1], header = size < 126 ? 2 : 4;
    if (size == 127) {
      errors++;
      return length;
    }
    if (length - at < header) break;
    if (header == 4) size = (uint8_t)data[at + 2] << 8 | (uint8_t)data[at + 3];
    if (length - at < header + size) break;
    if ((data[at] & 15) == 8) leave(c, c->state == JOINED);
    else if (size > 0) on_message(c, data + at + header, size);
    at += header + size;
  }
  return at;
}

static void on_readable(struct client *c) {
  if (c->carried) memcpy(bytes, c->carry, c->carried);
  ssize_t got = recv(c->fd, bytes + c->carried, sizeof bytes - c->carried - 1, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return leave(c, c->state == JOINED);
  size_t length = c->carried + got, at = 0;
  bytes[length] = 0;
  if (c->state == UPGRADING) {
    char *end = strstr(bytes, "\r\n\r\n");
    if (end && strncmp(bytes, "HTTP/1.1 101", 12)) return leave(c, 0);
    if (end) {
      c->state = OPENING;
      at = end + 4 - bytes;
    }
  }
  if (c->state != UPGRADING) at += read_frames(c, bytes + at, length - at);
  if (c->state == GONE) return;
  free(c->carry);
  c->carry = NULL;
  c->carried = length - at;
  if (c->carried) c->carry = memcpy(malloc(c->carried), bytes + at, c->carried);
}

static void on_connected(struct client *c) {
  static const char format[] =
      "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %016xAAAAAA==\r\n\r\n";
  char request[512];
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error) return leave(c, 0);
  c->state = UPGRADING;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event);
  write_all(c, request, snprintf(request, sizeof request, format, ntohs(server.sin_port), (int)(c - clients)));
}

// Every client has a port of its own on the process's own address: to let the kernel look for one takes ever longer.
static void start_client(void) {
  struct client *c = &clients[opened];
  int one = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  c->state = CONNECTING;
  opened++;
  in_flight++;
  setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLOUT, .data.ptr = c};
  // A program that listens at all addresses has the port.
  int bound;
  do {
    source.sin_port = htons(next_port++);
    bound = bind(c->fd, (void *)&source, sizeof source);
  } while (bound && errno == EADDRINUSE && next_port < 65536);
  if (c->fd < 0 || bound ||
      (connect(c->fd, (void *)&server, sizeof server) && errno != EINPROGRESS) ||
      epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event))
    leave(c, 0);
}

static double number(const char *line, const char *name) {
  const char *at = strstr(line, name);
  return at ? atof(at + strlen(name) + 2) : 0;
}

static void look(int id) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  double cpu = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
  printf("{\"id\":%d,\"result\":{\"at\":%f,\"cpu\":%f,\"counters\":{\"ready\":%d,\"sent\":%.0f,\"received\":%.0f,", id,
         micros() / 1000.0, cpu, ready, sent, received);
  printf("\"reached\":%.0f,\"pings\":%.0f,\"ended\":%.0f,\"refused\":%.0f,\"errors\":%.0f},", reached, pings, ended,
         refused, errors);
  print_histogram("latency", &latency);
  printf(",");
  print_histogram("reach", &reach);
  printf("}}\n");
}

static void obey(const char *line) {
  int id = number(line, "\"id");
  if (strstr(line, "\"order\":\"look\"")) return look(id);
  if (strstr(line, "\"order\":\"open\"")) {
    int address = number(line, "\"source");
    count = number(line, "\"count");
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(number(line, "\"port"))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    source = server;
    source.sin_addr.s_addr = htonl(0x7f000100 + (address / 250 << 8) + address % 250 + 1);
    open_id = id;
    return;
  }
  if (strstr(line, "\"order\":\"talk\"")) {
    period = number(line, "\"every") * 1000;
    began = micros();
  }
  if (strstr(line, "\"order\":\"publish\"")) {
    char text[128];
    snprintf(text, sizeof text, "42[\"publish\",{\"room\":\"all\",\"text\":\"%015lld to everybody\"}]", (long long)micros());
    say(&clients[0], text);
  }
  printf("{\"id\":%d,\"result\":null}\n", id);
}

static void read_orders(void) {
  static char line[65536];
  static size_t length;
  ssize_t got = read(0, line + length, sizeof line - length - 1);
  if (got <= 0) exit(0);
  length += got;
  line[length] = 0;
  char *from = line, *end;
  for (; (end = strchr(from, '\n')); from = end + 1) {
    *end = 0;
    obey(from);
  }
  length -= from - line;
  memmove(line, from, length);
}

// Clients take turns, so that each talks once in a period.
static void talk(void) {
  uint64_t due = (double)(micros() - began) * count / period;
  for (; fired < due; fired++) {
    struct client *c = &clients[fired % count];
    if (c->state != JOINED) continue;
    c->sent = micros();
    sent++;
    say(c, "42[\"upper\",\"" TEXT "\"]");
  }
}

int main(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  epoll = epoll_create1(0);
  struct epoll_event events[512], orders = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &orders);
  printf("{\"ready\":true}\n");
  for (;;) {
    int got = epoll_wait(epoll, events, 512, period ? 5 : 100);
    for (int i = 0; i < got; i++) {
      struct client *c = events[i].data.ptr;
      if (!c) read_orders();
      else if (c->state == CONNECTING) on_connected(c);
      else if (c->state != GONE) on_readable(c);
    }
    while (opened < count && in_flight < 40) start_client();
    if (open_id >= 0 && opened == count && in_flight == 0) {
      printf("{\"id\":%d,\"result\":{\"ready\":%d,\"refused\":%.0f}}\n", open_id, ready, refused);
      open_id = -1;
    }
    if (period) talk();
  }
}
