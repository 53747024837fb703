// One dumbbell in ns-3.37: n TCP flows over one congested link, a host of its own at each end of
// every flow. Prints one line of JSON. Usage: dumbbell --NAME=VALUE ...
//
// Everything is measured from `warmup` to `duration`. The queue's mean and `buffer` leave out the
// packet in transmission; with a queue discipline they include the one packet of the device's
// queue below it. Packets are 1500 bytes on the wire, the 2 of the point-to-point header included.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#ifdef FOREBAY
#include "../../contrib/forebay/model/forebay-queue-disc.h"
#endif

#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace ns3;

namespace {

struct Options
{
    std::string tcp = "sack", queue = "fifo", recovery = "classic", control = "linux-reno";
    uint32_t flows = 16, buffer = 30, initialWindow = 10, seed = 1, buffers = 16 << 20;
    double rate = 10e6, delay = 0.02, accessRate = 1e9, accessDelay = 0.0001;
    double duration = 120, warmup = 20, spread = 5;
    double minRto = 0.2, initialRto = 1, delayedAck = 0.04;
    double minTh = 5, maxTh = 15, maxP = 0.1, weight = 0.002;
    std::string kind = "codel", parameters = "{}", calls;
    bool timestamps = false, hystart = false, limitedTransmit = true, monitor = true;
};

constexpr uint32_t WIRE_BYTES = 1500;
constexpr uint32_t PPP_BYTES = 2;

double CpuSeconds()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Most bytes that were ever resident.
uint64_t PeakMemory()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            uint64_t kilobytes = 0;
            status >> kilobytes;
            return kilobytes * 1024;
        }
    }
    return 0;
}

// New Reno that halves its window, as RFC 5681's FlightSize comes to for an endless transfer; ns-3
// halves what it believes to be in flight, which leaves out what was SACKed and what is lost.
class TcpHalfWindow : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("TcpHalfWindow")
                               .SetParent<TcpNewReno>()
                               .AddConstructor<TcpHalfWindow>();
        return id;
    }
    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        return std::max(2 * state->m_segmentSize, state->m_cWnd.Get() / 2);
    }
    Ptr<TcpCongestionOps> Fork() override { return CopyObject<TcpHalfWindow>(this); }
};

// What the congested link did: an exact integral of waiting packets, and counters.
struct Meter
{
    uint64_t packets = 0, bytes = 0, arrivals = 0, drops = 0;
    uint32_t inDisc = 0, inDevice = 0;
    double integral = 0;
    Time last;

    void Advance()
    {
        const Time now = Simulator::Now();
        integral += (inDisc + inDevice) * (now - last).GetSeconds();
        last = now;
    }
    void DiscLength(uint32_t, uint32_t length)
    {
        Advance();
        inDisc = length;
    }
    void DeviceLength(uint32_t, uint32_t length)
    {
        Advance();
        inDevice = length;
    }
    void Sent(Ptr<const Packet> packet)
    {
        ++packets;
        bytes += packet->GetSize();
    }
    void Arrived(Ptr<const Packet>) { ++arrivals; }
    void Dropped(Ptr<const Packet>) { ++drops; }
};

// What happens at the queue discipline, as crates/disciplines/examples/recorded.rs reads it.
struct Calls
{
    std::ofstream out;
    // The last one sent: ns-3 tells of a packet that is dropped on the way out that it was sent, too.
    std::string sent;
    // Segments of one connection share a packet's number in ns-3; these are numbered as they come.
    std::unordered_map<const QueueDiscItem*, uint32_t> names;
    uint32_t next = 0;

    ~Calls() { out << sent; }
    uint32_t Name(Ptr<const QueueDiscItem> item) { return names.at(PeekPointer(item)); }
    std::ostream& Line(char what, Ptr<const QueueDiscItem> item)
    {
        out << std::exchange(sent, "");
        return out << what << ' ' << Simulator::Now().GetNanoSeconds() << ' ' << Name(item);
    }
    void Arrived(Ptr<const QueueDiscItem> item, const char* verdict)
    {
        uint8_t tos = 0;
        item->GetUint8Value(QueueItem::IP_DSFIELD, tos);
        names[PeekPointer(item)] = next++;
        Line('A', item) << ' ' << item->GetSize() << ' ' << item->Hash() << " 0 " << int(tos)
                        << ' ' << verdict << '\n';
    }
    void Queued(Ptr<const QueueDiscItem> item) { Arrived(item, "queued"); }
    void Refused(Ptr<const QueueDiscItem> item, const char*) { Arrived(item, "dropped"); }
    void Discarded(Ptr<const QueueDiscItem> item, const char*)
    {
        sent.clear();
        Line('X', item) << '\n';
    }
    void Sent(Ptr<const QueueDiscItem> item)
    {
        out << sent;
        std::ostringstream line;
        line << "D " << Simulator::Now().GetNanoSeconds() << ' ' << Name(item) << '\n';
        sent = line.str();
    }
    void Watch(Ptr<QueueDisc> disc)
    {
        disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&Calls::Queued, this));
        disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Calls::Refused, this));
        disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Calls::Discarded, this));
        disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Calls::Sent, this));
    }
};

void SetDefaults(const Options& o)
{
    const uint32_t headers = 40 + PPP_BYTES + (o.timestamps ? 12 : 0);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(WIRE_BYTES - headers));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.initialWindow));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.buffers));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.buffers));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(o.initialRto)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(o.initialRto)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delayedAck > 0 ? 2 : 1));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout",
                       TimeValue(Seconds(o.delayedAck > 0 ? o.delayedAck : 0.2)));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(o.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.tcp != "newreno"));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(o.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(o.limitedTransmit));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(o.hystart));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(o.tcp == "cubic"             ? TcpCubic::GetTypeId()
                                   : o.control == "new-reno"    ? TcpNewReno::GetTypeId()
                                   : o.control == "half-window" ? TcpHalfWindow::GetTypeId()
                                                                : TcpLinuxReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(o.recovery == "prr" ? TcpPrrRecovery::GetTypeId()
                                                       : TcpClassicRecovery::GetTypeId()));
    // Access links never drop.
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize",
                       QueueSizeValue(QueueSize("1000000p")));
}

TrafficControlHelper Discipline(const Options& o)
{
    TrafficControlHelper helper;
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, o.buffer));
    if (o.queue == "red")
    {
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", limit,
                                "MinTh", DoubleValue(o.minTh), "MaxTh", DoubleValue(o.maxTh),
                                "LInterm", DoubleValue(1 / o.maxP), "QW", DoubleValue(o.weight),
                                "MeanPktSize", UintegerValue(WIRE_BYTES),
                                "IdlePktSize", UintegerValue(WIRE_BYTES),
                                "Gentle", BooleanValue(true), "Wait", BooleanValue(false),
                                "LinkBandwidth", DataRateValue(DataRate(uint64_t(o.rate))),
                                "LinkDelay", TimeValue(Seconds(o.delay)));
    }
    else if (o.queue == "codel")
    {
        helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", limit);
    }
    else if (o.queue == "pie")
    {
        // The RFC's numbers; ns-3's own target and update interval are 15 ms as well.
        helper.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", limit,
                                "MeanPktSize", UintegerValue(WIRE_BYTES),
                                "QueueDelayReference", TimeValue(MilliSeconds(15)),
                                "Tupdate", TimeValue(MilliSeconds(15)),
                                "A", DoubleValue(0.125), "B", DoubleValue(1.25),
                                "UseDequeueRateEstimator", BooleanValue(false),
                                "UseDerandomization", BooleanValue(true),
                                "UseCapDropAdjustment", BooleanValue(false));
    }
    else if (o.queue == "fq-codel")
    {
        helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", limit);
    }
#ifdef FOREBAY
    else if (o.queue == "forebay")
    {
        helper.SetRootQueueDisc("ns3::ForebayQueueDisc", "Kind", StringValue(o.kind),
                                "Parameters", StringValue(o.parameters),
                                "Overhead", UintegerValue(PPP_BYTES),
                                "Mtu", UintegerValue(WIRE_BYTES - PPP_BYTES),
                                "LinkBandwidth", DataRateValue(DataRate(uint64_t(o.rate))));
    }
#endif
    else
    {
        NS_FATAL_ERROR("queue: fifo, red, codel, pie or fq-codel");
    }
    return helper;
}

} // namespace

int main(int argc, char** argv)
{
    Options o;
    CommandLine line;
    line.AddValue("tcp", "newreno, sack or cubic", o.tcp);
    line.AddValue("queue", "fifo, red, codel, pie or fq-codel", o.queue);
    line.AddValue("recovery", "classic or prr", o.recovery);
    line.AddValue("control", "without cubic: linux-reno (counts bytes), new-reno (counts ACKs) or half-window (likewise)", o.control);
    line.AddValue("flows", "number of flows", o.flows);
    line.AddValue("rate", "congested link, bit/s", o.rate);
    line.AddValue("delay", "of the congested link, s", o.delay);
    line.AddValue("buffer", "waiting packets", o.buffer);
    line.AddValue("access_rate", "bit/s", o.accessRate);
    line.AddValue("access_delay", "s", o.accessDelay);
    line.AddValue("duration", "s", o.duration);
    line.AddValue("warmup", "s", o.warmup);
    line.AddValue("seed", "run number", o.seed);
    line.AddValue("spread", "flows start in the first so many s", o.spread);
    line.AddValue("initial_window", "segments", o.initialWindow);
    line.AddValue("buffers", "of the connections, bytes", o.buffers);
    line.AddValue("min_rto", "s", o.minRto);
    line.AddValue("initial_rto", "s", o.initialRto);
    line.AddValue("delayed_ack", "s; 0 for none", o.delayedAck);
    line.AddValue("timestamps", "RFC 7323", o.timestamps);
    line.AddValue("hystart", "CUBIC's", o.hystart);
    line.AddValue("limited_transmit", "RFC 3042", o.limitedTransmit);
    line.AddValue("min_th", "RED, packets", o.minTh);
    line.AddValue("max_th", "RED, packets", o.maxTh);
    line.AddValue("max_p", "RED", o.maxP);
    line.AddValue("weight", "RED", o.weight);
    line.AddValue("kind", "with --queue=forebay: its discipline", o.kind);
    line.AddValue("parameters", "and that one's parameters as JSON", o.parameters);
    line.AddValue("calls", "file for every call of the queue discipline", o.calls);
    line.AddValue("monitor", "measure the queue", o.monitor);
    line.Parse(argc, argv);
    RngSeedManager::SetRun(o.seed);
    SetDefaults(o);

    NodeContainer routers(2), sources(o.flows), targets(o.flows);
    InternetStackHelper internet;
    Ipv4StaticRoutingHelper routing;
    internet.SetRoutingHelper(routing);
    internet.InstallAll();

    PointToPointHelper middle, access;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(o.rate))));
    middle.SetChannelAttribute("Delay", TimeValue(Seconds(o.delay)));
    access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(o.accessRate))));
    access.SetChannelAttribute("Delay", TimeValue(Seconds(o.accessDelay)));

    const bool plain = o.queue == "fifo";
    NetDeviceContainer congested = middle.Install(routers);
    auto device = DynamicCast<PointToPointNetDevice>(congested.Get(0));
    auto deviceQueue = device->GetQueue();
    deviceQueue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, plain ? o.buffer : 1));
    Ptr<QueueDisc> disc;
    if (!plain)
    {
        disc = Discipline(o).Install(device).Get(0);
    }

    // Without a queue discipline, packets go straight to the device's queue.
    TrafficControlHelper none;
    auto wire = [&](PointToPointHelper& helper, Ptr<Node> a, Ptr<Node> b, const char* network) {
        NetDeviceContainer devices = helper.Install(a, b);
        Ipv4AddressHelper address(network, "255.255.255.252");
        Ipv4InterfaceContainer interfaces = address.Assign(devices);
        none.Uninstall(devices);
        return interfaces;
    };
    Ipv4AddressHelper middleAddress("192.168.0.0", "255.255.255.252");
    Ipv4InterfaceContainer middleInterfaces = middleAddress.Assign(congested);
    none.Uninstall(congested.Get(1));
    if (plain)
    {
        none.Uninstall(device);
    }

    auto network = [](uint32_t first, uint32_t flow) {
        const uint32_t third = flow * 4;
        return std::to_string(first) + "." + std::to_string(third >> 16) + "." +
               std::to_string((third >> 8) & 255) + "." + std::to_string(third & 255);
    };
    auto routes = [&](Ptr<Node> node) { return routing.GetStaticRouting(node->GetObject<Ipv4>()); };
    // The left hosts are in 10/8, the right ones in 11/8.
    routes(routers.Get(0))
        ->AddNetworkRouteTo("11.0.0.0", "255.0.0.0", middleInterfaces.GetAddress(1),
                            middleInterfaces.Get(0).second);
    routes(routers.Get(1))
        ->AddNetworkRouteTo("10.0.0.0", "255.0.0.0", middleInterfaces.GetAddress(0),
                            middleInterfaces.Get(1).second);

    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t flow = 0; flow < o.flows; ++flow)
    {
        auto left = wire(access, sources.Get(flow), routers.Get(0), network(10, flow).c_str());
        auto right = wire(access, routers.Get(1), targets.Get(flow), network(11, flow).c_str());
        routes(sources.Get(flow))->SetDefaultRoute(left.GetAddress(1), left.Get(0).second);
        routes(targets.Get(flow))->SetDefaultRoute(right.GetAddress(0), right.Get(1).second);
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), 5000));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(targets.Get(flow)).Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(right.GetAddress(1), 5000));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(14600));
        bulk.Install(sources.Get(flow)).Start(Seconds(start->GetValue(0, o.spread)));
    }

    Meter meter;
    if (o.monitor)
    {
        deviceQueue->TraceConnectWithoutContext("PacketsInQueue",
                                                MakeCallback(&Meter::DeviceLength, &meter));
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Meter::Sent, &meter));
        if (plain)
        {
            // A full device queue stops its device, so that the layer above is what drops.
            deviceQueue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Meter::Arrived, &meter));
            routers.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
                "TcDrop", MakeCallback(&Meter::Dropped, &meter));
        }
        else
        {
            disc->TraceConnectWithoutContext("PacketsInQueue",
                                             MakeCallback(&Meter::DiscLength, &meter));
        }
    }

    Calls calls;
    if (!o.calls.empty())
    {
        calls.out.open(o.calls);
        calls.Watch(disc);
    }

    struct Counters
    {
        double integral = 0;
        uint64_t arrivals = 0, drops = 0, packets = 0, bytes = 0, received = 0;
    } before;
    auto counters = [&] {
        Counters now;
        meter.Advance();
        now.integral = meter.integral;
        now.packets = meter.packets;
        now.bytes = meter.bytes;
        now.drops = meter.drops;
        now.arrivals = meter.arrivals + meter.drops;
        if (disc)
        {
            now.arrivals = disc->GetStats().nTotalReceivedPackets;
            now.drops = disc->GetStats().nTotalDroppedPackets;
        }
        for (const auto& sink : sinks)
        {
            now.received += sink->GetTotalRx();
        }
        return now;
    };
    Simulator::Schedule(Seconds(o.warmup), [&] { before = counters(); });
    Simulator::Stop(Seconds(o.duration));
    const double cpuAtStart = CpuSeconds();
    Simulator::Run();
    const double runCpu = CpuSeconds() - cpuAtStart;
    const Counters after = counters();

    const double span = o.duration - o.warmup;
    const double segment = WIRE_BYTES - 40 - PPP_BYTES - (o.timestamps ? 12 : 0);
    const double segments = (after.received - before.received) / segment;
    const double packets = after.packets - before.packets;
    const double arrivals = after.arrivals - before.arrivals;
    std::cout << std::fixed << std::setprecision(6)                                          //
              << "{\"queue\": " << (after.integral - before.integral) / span                 //
              << ", \"utilization\": " << (after.bytes - before.bytes) * 8 / o.rate / span   //
              << ", \"loss\": " << (arrivals > 0 ? (after.drops - before.drops) / arrivals : 0) //
              << ", \"once\": " << (packets > 0 ? segments / packets : 0)                    //
              << ", \"segments\": " << uint64_t(segments)                                    //
              << ", \"run_cpu\": " << runCpu                                                  //
              << ", \"memory\": " << PeakMemory() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
