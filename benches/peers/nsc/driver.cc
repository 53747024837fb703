// A dumbbell around a kernel of the Network Simulation Cradle: bulk flows over one link with a
// tail-drop queue, or with threshold=PACKETS under CP-AQM. Compile with -I of the Cradle's folder sim; the kernel is loaded at run time.
//
// Prints one JSON object of measures; with trace=FILE also writes every segment at the senders.

#include <arpa/inet.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "sim_interface.h"

namespace {

using Nanos = int64_t;
constexpr Nanos kSecond = 1000000000;

struct Options {
  std::map<std::string, std::string> given;

  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : found->second;
  }
  double number(const std::string& name, double otherwise) const {
    const auto found = given.find(name);
    return found == given.end() ? otherwise : std::stod(found->second);
  }
};

struct Packet {
  std::vector<unsigned char> bytes;
  int flow = 0;
};

class Agenda {
 public:
  Nanos now = 0;

  void at(Nanos time, std::function<void()> action) {
    events_.push({time, next_++, std::make_shared<std::function<void()>>(std::move(action))});
  }
  void run(Nanos end) {
    while (!events_.empty() && events_.top().time <= end) {
      const Event event = events_.top();
      events_.pop();
      now = event.time;
      (*event.action)();
    }
    now = end;
  }

 private:
  struct Event {
    Nanos time;
    uint64_t order;
    std::shared_ptr<std::function<void()>> action;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  std::priority_queue<Event> events_;
  uint64_t next_ = 0;
};

Agenda agenda;

constexpr double kLargest = 1500;  // bytes of a packet

// CP-AQM by section 3 of its paper: a token bucket that meters congestion. Sizes in bytes.
struct Policer {
  double threshold, capacity, most, bucket, rate;
  double tokens = bucket;
  Nanos filled = 0;

  // Whether a packet of `frame` bytes on the wire may join a queue of `waiting` bytes.
  bool admits(double waiting, double frame) {
    const double gained = rate / 8e9 * static_cast<double>(agenda.now - filled);
    tokens = std::min(bucket, tokens + gained);
    filled = agenda.now;
    if (waiting < threshold) return true;
    const double above = (waiting - threshold) / std::max(capacity - threshold, 1.0);
    const double cost = frame * (1 + above * (most - 1));
    if (cost > tokens + 1e-6) return false;
    tokens -= cost;
    return true;
  }
};

// A link with a tail-drop queue; measures what happens from `warmup` on.
class Link {
 public:
  using Deliver = std::function<void(Packet)>;

  Link(double rate, Nanos delay, int overhead, size_t room, Nanos warmup, Deliver deliver)
      : rate_(rate), delay_(delay), overhead_(overhead), room_(room), warmup_(warmup),
        deliver_(std::move(deliver)) {}

  std::unique_ptr<Policer> policer;

  void arrive(Packet packet) {
    account();
    const bool counts = agenda.now >= warmup_;
    arrivals += counts;
    const double size = static_cast<double>(packet.bytes.size());
    if (waiting_.size() >= room_ || (policer && !policer->admits(bytes_, size + overhead_))) {
      drops += counts;
      return;
    }
    bytes_ += size;
    waiting_.push_back(std::move(packet));
    if (!busy_) transmit();
  }
  void account() {
    const Nanos from = std::max(last_, warmup_);
    if (agenda.now > from) {
      area += static_cast<double>(agenda.now - from) * static_cast<double>(waiting_.size());
      busy_time += busy_ ? static_cast<double>(agenda.now - from) : 0;
    }
    last_ = agenda.now;
  }

  double area = 0, busy_time = 0;
  long arrivals = 0, drops = 0;

 private:
  void transmit() {
    auto packet = std::make_shared<Packet>(std::move(waiting_.front()));
    waiting_.pop_front();
    bytes_ -= static_cast<double>(packet->bytes.size());
    busy_ = true;
    const double bits = 8.0 * (static_cast<double>(packet->bytes.size()) + overhead_);
    const Nanos span = static_cast<Nanos>(bits * 1e9 / rate_ + 0.5);
    agenda.at(agenda.now + span, [this, packet] {
      account();
      busy_ = false;
      if (!waiting_.empty()) transmit();
      agenda.at(agenda.now + delay_, [this, packet] { deliver_(std::move(*packet)); });
    });
  }

  double rate_;
  Nanos delay_;
  int overhead_;
  size_t room_;
  Nanos warmup_;
  Deliver deliver_;
  std::deque<Packet> waiting_;
  double bytes_ = 0;
  bool busy_ = false;
  Nanos last_ = 0;
};

uint32_t load(const Packet& packet, size_t at) {
  uint32_t value;
  std::memcpy(&value, packet.bytes.data() + at, 4);
  return ntohl(value);
}

constexpr uint32_t kOwn = 0x010000fdu;     // 1.0.0.253
constexpr uint32_t kOthers = 0x02000000u;  // 2.0.0.0

// Every stack believes to be 1.0.0.253, that of flow n's sender to speak with 2.0.0.1 and the one
// of all receivers with 2.0.0.0 + n + 2: addresses are changed on the way.
void readdress(Packet& packet, uint32_t from) {
  const uint32_t source = htonl(from), destination = htonl(kOwn);
  unsigned char* ip = packet.bytes.data();
  std::memcpy(ip + 12, &source, 4);
  std::memcpy(ip + 16, &destination, 4);
  ip[10] = ip[11] = 0;
  uint32_t sum = 0;
  for (int i = 0; i < (ip[0] & 15) * 4; i += 2) sum += (ip[i] << 8) | ip[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  sum = ~sum & 0xffff;
  ip[10] = static_cast<unsigned char>(sum >> 8);
  ip[11] = static_cast<unsigned char>(sum);
}

// Writes segments as columns time_s, flow, dir, seq, ack, len, flags, wnd, sack; and the sender's
// window in segments, and TSval and TSecr.
class Trace {
 public:
  explicit Trace(const std::string& path) : file_(path.empty() ? nullptr : fopen(path.c_str(), "w")) {
    if (!path.empty() && !file_) {
      fprintf(stderr, "cannot write %s\n", path.c_str());
      exit(2);
    }
    if (file_) fputs("time_s,flow,dir,seq,ack,len,flags,wnd,sack,cwnd,tsval,tsecr\n", file_);
  }
  ~Trace() {
    if (file_) fclose(file_);
  }
  void record(int flow, bool data, const Packet& packet, const std::string& cwnd) {
    if (!file_) return;
    const size_t ip = (packet.bytes[0] & 15u) * 4u;
    const size_t header = (packet.bytes[ip + 12] >> 4) * 4u;
    const unsigned bits = packet.bytes[ip + 13];
    const uint32_t seq = load(packet, ip + 4), ack = load(packet, ip + 8);
    Side& own = sides_[{flow, data}];
    Side& other = sides_[{flow, !data}];
    if (bits & 2) {
      own.initial = seq;
      own.scale = 0;
    }
    std::string flags;
    for (const auto& [bit, letter] : {std::pair{2, 'S'}, {1, 'F'}, {4, 'R'}, {8, 'P'}, {0x40, 'E'},
                                      {0x80, 'W'}, {0x10, '.'}})
      if (bits & static_cast<unsigned>(bit)) flags += letter;
    std::string sack;
    uint32_t stamps[2] = {0, 0};
    for (size_t at = ip + 20; at + 1 < ip + header && packet.bytes[at] != 0;) {
      const unsigned kind = packet.bytes[at];
      const size_t size = kind == 1 ? 1 : std::max<size_t>(packet.bytes[at + 1], 2);
      for (size_t i = 0; kind == 8 && i < 2; i++) stamps[i] = load(packet, at + 2 + 4 * i);
      if (kind == 3) own.scale = packet.bytes[at + 2];
      for (size_t block = at + 2; kind == 5 && block + 8 <= at + size; block += 8) {
        if (!sack.empty()) sack += ';';
        sack += std::to_string(load(packet, block) - other.initial) + '-' +
                std::to_string(load(packet, block + 4) - other.initial);
      }
      at += size;
    }
    uint32_t window = (packet.bytes[ip + 14] << 8) | packet.bytes[ip + 15];
    if (!(bits & 2)) window <<= own.scale;
    fprintf(file_, "%.9f,%d,%s,%u,%u,%zu,%s,%u,%s,%s,%u,%u\n", static_cast<double>(agenda.now) / 1e9,
            flow, data ? "data" : "ack", seq - own.initial, bits & 0x10 ? ack - other.initial : 0,
            packet.bytes.size() - ip - header, flags.c_str(), window, sack.c_str(), cwnd.c_str(),
            stamps[0], stamps[1]);
  }

 private:
  struct Side {
    uint32_t initial = 0;
    unsigned scale = 0;
  };
  FILE* file_;
  std::map<std::pair<int, bool>, Side> sides_;
};

// A machine with a kernel: a sender's, or that of all receivers.
class Host : public ISendCallback, public IInterruptCallback {
 public:
  static constexpr int kServer = -1;

  Host(int flow, FCreateStack create, const Options& options, Trace& trace)
      : flow_(flow), trace_(trace), stack_(create(this, this, nullptr)) {
    stack_->init(stack_->get_hz());
    const std::string buffer = options.text("buffer", "1000000");
    stack_->buffer_size(std::stoi(buffer));
    for (const char* name : {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"})
      stack_->sysctl_set(name, ("4096 " + buffer + " " + buffer).c_str());
    stack_->if_attach("1.0.0.253", "255.255.255.0", 1500);
    stack_->add_default_gateway("1.0.0.254");
    const std::string control = options.text("congestion", "cubic");
    if (stack_->sysctl_set("net.ipv4.tcp_congestion_control", control.c_str()) < 0) {
      fprintf(stderr, "the kernel has no congestion control \"%s\"\n", control.c_str());
      exit(2);
    }
    if (flow == kServer) {
      listener_ = stack_->new_tcp_socket();
      listener_->listen(80);
    }
    tick();
  }

  std::function<void(Packet)> out;

  void connect() {
    sockets_.push_back(stack_->new_tcp_socket());
    sockets_.back()->connect("2.0.0.1", 80);
  }
  void receive(Packet packet) {
    if (!listener_) trace_.record(flow_, false, packet, cwnd());
    readdress(packet, kOthers + (listener_ ? static_cast<uint32_t>(packet.flow) + 2 : 1));
    stack_->if_receive_packet(0, packet.bytes.data(), static_cast<int>(packet.bytes.size()));
    if (!listener_) return write();
    INetStreamSocket* accepted = nullptr;
    listener_->accept(&accepted);
    if (accepted) sockets_.push_back(accepted);
    char buffer[4096];
    for (INetStreamSocket* socket : sockets_) {
      int count = sizeof buffer;
      while (socket->read_data(buffer, &count) == 0 && count > 0) count = sizeof buffer;
    }
  }

  void send_callback(const void* data, int length) override {
    Packet packet;
    const auto* bytes = static_cast<const unsigned char*>(data);
    packet.bytes.assign(bytes, bytes + length);
    packet.flow = listener_ ? static_cast<int>(load(packet, 16) - kOthers) - 2 : flow_;
    if (!listener_) trace_.record(flow_, true, packet, cwnd());
    out(std::move(packet));
    stack_->if_send_finish(0);
  }
  void wakeup() override {}
  void gettime(unsigned int* seconds, unsigned int* micros) override {
    *seconds = static_cast<unsigned>(agenda.now / kSecond);
    *micros = static_cast<unsigned>(agenda.now % kSecond / 1000);
  }

 private:
  void tick() {
    agenda.at(agenda.now + kSecond / stack_->get_hz(), [this] {
      if (!listener_) write();
      stack_->increment_ticks();
      stack_->timer_interrupt();
      tick();
    });
  }
  void write() {
    static char zeros[4096];
    for (INetStreamSocket* socket : sockets_)
      while (socket->is_connected() && socket->send_data(zeros, sizeof zeros) == sizeof zeros) {
      }
  }
  std::string cwnd() {
    char value[64] = "";
    if (!sockets_.empty()) sockets_[0]->get_var("cwnd_", value, sizeof value);
    return value;
  }

  int flow_;
  Trace& trace_;
  INetStack* stack_;
  INetStreamSocket* listener_ = nullptr;
  std::vector<INetStreamSocket*> sockets_;
};

// A copy of the kernel; each has room for so many machines.
constexpr size_t kMachines = 40;

FCreateStack load_kernel(const Options& options) {
  void* library = dlmopen(LM_ID_NEWLM, options.text("library", "").c_str(), RTLD_NOW);
  const auto create =
      library ? reinterpret_cast<FCreateStack>(dlsym(library, "nsc_create_stack")) : nullptr;
  if (!create) {
    fprintf(stderr, "library=PATH is no kernel of the Network Simulation Cradle: %s\n", dlerror());
    exit(2);
  }
  return create;
}

Nanos nanos(double seconds) { return static_cast<Nanos>(seconds * 1e9 + 0.5); }

}  // namespace

int main(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i++) {
    const std::string word = words[i];
    const size_t sign = word.find('=');
    if (sign == std::string::npos) {
      fprintf(stderr, "not NAME=VALUE: %s\n", word.c_str());
      return 2;
    }
    options.given[word.substr(0, sign)] = word.substr(sign + 1);
  }
  FCreateStack create = load_kernel(options);

  std::vector<Nanos> starts;
  std::stringstream list(options.text("starts", "0"));
  for (std::string start; std::getline(list, start, ',');) starts.push_back(nanos(std::stod(start)));
  const Nanos duration = nanos(options.number("duration", 110));
  const Nanos warmup = nanos(options.number("warmup", 10));
  const Nanos delay = nanos(options.number("delay", 0.005));
  const double rate = options.number("rate", 10e6);
  const int overhead = static_cast<int>(options.number("overhead", 7));
  const double access = options.number("access_rate", 1e9);
  const Nanos access_delay = nanos(options.number("access_delay", 1e-4));
  const auto room = static_cast<size_t>(options.number("limit", 30));
  constexpr size_t kEndless = SIZE_MAX;

  Trace trace(options.text("trace", ""));
  Host server(Host::kServer, create, options, trace);
  std::vector<std::unique_ptr<Host>> senders;
  // Access links: up and down at the senders, then at the receivers.
  std::vector<std::unique_ptr<Link>> left_up, left_down, right_up, right_down;
  Link forward(rate, delay, overhead, room, warmup,
               [&](Packet packet) { right_down[packet.flow]->arrive(std::move(packet)); });
  Link backward(rate, delay, overhead, kEndless, warmup,
                [&](Packet packet) { left_down[packet.flow]->arrive(std::move(packet)); });
  const double threshold = options.number("threshold", -1);
  if (threshold >= 0)
    forward.policer.reset(new Policer{threshold * kLargest, static_cast<double>(room) * kLargest,
                                      options.number("max_congestion", 1.2),
                                      options.number("bucket", 67815), rate});
  const auto link = [&](Link::Deliver deliver) {
    return std::make_unique<Link>(access, access_delay, 0, kEndless, warmup, std::move(deliver));
  };
  server.out = [&](Packet packet) { right_up[packet.flow]->arrive(std::move(packet)); };
  for (size_t flow = 0; flow < starts.size(); flow++) {
    if (flow % kMachines == kMachines - 1) create = load_kernel(options);
    senders.push_back(std::make_unique<Host>(static_cast<int>(flow), create, options, trace));
    Host* sender = senders.back().get();
    left_up.push_back(link([&](Packet packet) { forward.arrive(std::move(packet)); }));
    left_down.push_back(link([sender](Packet packet) { sender->receive(std::move(packet)); }));
    right_up.push_back(link([&](Packet packet) { backward.arrive(std::move(packet)); }));
    right_down.push_back(link([&](Packet packet) { server.receive(std::move(packet)); }));
    sender->out = [&left_up](Packet packet) { left_up[packet.flow]->arrive(std::move(packet)); };
    agenda.at(starts[flow], [sender] { sender->connect(); });
  }
  agenda.run(duration);
  forward.account();
  const double span = static_cast<double>(duration - warmup);
  printf("{\"queue\": %.6f, \"utilization\": %.8f, \"loss\": %.8f, \"arrivals\": %ld, \"drops\": %ld}\n",
         forward.area / span, forward.busy_time / span,
         static_cast<double>(forward.drops) / static_cast<double>(std::max(forward.arrivals, 1L)),
         forward.arrivals, forward.drops);
  fflush(nullptr);
  _Exit(0);  // The kernels have no way to end.
}
