// The dumbbell of dumbbell.cc in htsim: n TCP flows over one congested link, a link of its own at
// each end of every flow unless --access=0. Prints one line of JSON. Usage: htsim --NAME=VALUE ...
//
// htsim's TCP is New Reno without SACK, with an acknowledgment for each segment. Nothing is
// measured but the segments that receivers have in order, and processor time.

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

const int PACKET = 1500;
const double ACCESS_RATE = 1e9, ACCESS_DELAY = 0.0001;

// A queue that never drops, as those of access links.
const mem_b ENDLESS = mem_b(1) << 40;

struct Hop {
    Queue* queue;
    Pipe* pipe;
};

// The links that all flows share, and those that each has for itself.
struct Dumbbell {
    EventList& events;
    bool access;
    Hop there, back;

    Dumbbell(const std::map<std::string, double>& options, EventList& events)
        : events(events), access(options.at("access") != 0),
          there(link(options.at("rate"), options.at("delay"), mem_b(options.at("buffer") + 1) * PACKET)),
          back(link(options.at("rate"), options.at("delay"), ENDLESS)) {}

    Hop link(double rate, double delay, mem_b room) {
        return {new Queue(linkspeed_bps(rate), room, events, nullptr), new Pipe(timeFromSec(delay), events)};
    }

    // The links of a flow in one direction, to where it ends.
    Route* route(const Hop& middle, PacketSink* end) {
        Route* found = new Route();
        if (access) push(found, link(ACCESS_RATE, ACCESS_DELAY, ENDLESS));
        push(found, middle);
        if (access) push(found, link(ACCESS_RATE, ACCESS_DELAY, ENDLESS));
        found->push_back(end);
        return found;
    }

    static void push(Route* route, const Hop& hop) {
        route->push_back(hop.queue);
        route->push_back(hop.pipe);
    }
};

long resident_peak() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            long kilobytes;
            status >> kilobytes;
            return kilobytes * 1024;
        }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    std::map<std::string, double> options = {
        {"flows", 16}, {"rate", 10e6}, {"delay", 0.02},    {"buffer", 30},
        {"duration", 80}, {"spread", 5}, {"seed", 1}, {"access", 1}};
    for (int at = 1; at < count; at++) {
        std::string word = words[at];
        size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        if (equals == std::string::npos || name.compare(0, 2, "--") || !options.count(name.substr(2))) {
            std::cerr << "error: " << word << ": unknown option" << std::endl;
            return 2;
        }
        options[name.substr(2)] = std::atof(word.c_str() + equals + 1);
    }
    // htsim says more than we ask for.
    std::ostringstream unread;
    std::streambuf* output = std::cout.rdbuf(unread.rdbuf());

    srand(unsigned(options["seed"]));
    Packet::set_packet_size(PACKET);
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(timeFromSec(options["duration"]));
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    Dumbbell dumbbell(options, events);
    std::vector<TcpSink*> sinks;
    for (int flow = 0; flow < int(options["flows"]); flow++) {
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        timers.registerTcp(*source);
        source->connect(*dumbbell.route(dumbbell.there, sink), *dumbbell.route(dumbbell.back, source), *sink,
                        timeFromSec(options["spread"] * drand()));
        sinks.push_back(sink);
    }
    std::clock_t began = std::clock();
    while (EventList::doNextEvent()) {
    }
    double took = double(std::clock() - began) / CLOCKS_PER_SEC;
    double segments = 0;
    for (TcpSink* sink : sinks) segments += double(sink->_cumulative_ack) / PACKET;

    std::cout.rdbuf(output);
    std::cout << "{\"segments\": " << long(segments) << ", \"run_cpu\": " << took
              << ", \"memory\": " << resident_peak()
              << ", \"queue\": null, \"utilization\": null, \"loss\": null, \"once\": null}" << std::endl;
    return 0;
}
