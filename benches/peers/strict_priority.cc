// The set-up of the ASPQ paper's table I with strict priority alone, for ns-3.23 (papers/aspq): a low-
// and a high-priority TCP transfer of 100 MB cross one device with two queues. Prints the seconds that
// the low transfer took. Usage: strict_priority --delay=0.01 [--NAME=VALUE ...]
//
// Frames have 1054 bytes: 1000 of payload, 40 of headers, 12 of timestamps, 2 of PPP.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/ppp-header.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <deque>
#include <iostream>
#include <sstream>

using namespace ns3;

namespace {

const uint64_t SIZE = 100000000;
uint32_t room = 240; // packets in each queue of the device
Ipv4Address urgent;  // the high-priority receiver

// Two queues, of which the first goes first.
class StrictPriority : public Queue
{
public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("StrictPriority").SetParent<Queue>();
        return id;
    }

private:
    static bool IsUrgent(Ptr<const Packet> packet)
    {
        Ptr<Packet> copy = packet->Copy();
        PppHeader ppp;
        Ipv4Header ip;
        copy->RemoveHeader(ppp);
        copy->RemoveHeader(ip);
        return ip.GetDestination() == urgent;
    }

    std::deque<Ptr<Packet> >* Next()
    {
        for (int at = 0; at < 2; ++at)
            if (!m_queues[at].empty())
                return &m_queues[at];
        return 0;
    }

    bool DoEnqueue(Ptr<Packet> packet)
    {
        std::deque<Ptr<Packet> >& queue = m_queues[IsUrgent(packet) ? 0 : 1];
        if (queue.size() >= room)
        {
            Drop(packet);
            return false;
        }
        queue.push_back(packet);
        return true;
    }

    Ptr<Packet> DoDequeue()
    {
        std::deque<Ptr<Packet> >* queue = Next();
        if (!queue)
            return 0;
        Ptr<Packet> packet = queue->front();
        queue->pop_front();
        return packet;
    }

    Ptr<const Packet> DoPeek() const
    {
        std::deque<Ptr<Packet> >* queue = const_cast<StrictPriority*>(this)->Next();
        return queue ? queue->front() : 0;
    }

    std::deque<Ptr<Packet> > m_queues[2];
};

uint64_t received = 0;
double ended = 0;

void Received(Ptr<const Packet> packet, const Address&)
{
    received += packet->GetSize();
    if (received >= SIZE && ended == 0)
    {
        ended = Simulator::Now().GetSeconds();
        Simulator::Stop(Seconds(1));
    }
}

enum { LOW, HIGH, ROUTER, DEVICE, RIGHT, LOW_RECEIVER, HIGH_RECEIVER, NODES };

} // namespace

int main(int argc, char** argv)
{
    double delay = 0.01, hop = 0.002, exit = 0.002;
    uint32_t window = 131072, threshold = 65535;
    bool scaling = true;
    CommandLine line;
    line.AddValue("delay", "of the low sender's link, s", delay);
    line.AddValue("hop", "delay of the other links, s", hop);
    line.AddValue("exit", "delay of the receivers' links, s", exit);
    line.AddValue("window", "of the receivers, bytes", window);
    line.AddValue("scaling", "of the window", scaling);
    line.AddValue("threshold", "first slow-start threshold before scaling, bytes", threshold);
    line.AddValue("room", "in each queue of the device, packets", room);
    line.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(threshold));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(scaling));

    NodeContainer nodes;
    nodes.Create(NODES);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(nodes);

    struct { int from, to; double rate, delay; } links[] = {
        {LOW, ROUTER, 50e6, delay}, {HIGH, ROUTER, 50e6, hop}, {ROUTER, DEVICE, 50e6, hop},
        {DEVICE, RIGHT, 10e6, hop}, {RIGHT, LOW_RECEIVER, 50e6, exit},
        {RIGHT, HIGH_RECEIVER, 50e6, exit}};
    NetDeviceContainer devices[6];
    Ipv4InterfaceContainer ends[6];
    for (int at = 0; at < 6; ++at)
    {
        PointToPointHelper helper;
        const DataRate rate(static_cast<uint64_t>(links[at].rate));
        helper.SetDeviceAttribute("DataRate", DataRateValue(rate));
        helper.SetChannelAttribute("Delay", TimeValue(Seconds(links[at].delay)));
        devices[at] = helper.Install(nodes.Get(links[at].from), nodes.Get(links[at].to));
        std::ostringstream network;
        network << "10.0." << at << ".0";
        ends[at] = Ipv4AddressHelper(network.str().c_str(), "255.255.255.0").Assign(devices[at]);
    }
    urgent = ends[5].GetAddress(1);
    DynamicCast<PointToPointNetDevice>(devices[3].Get(0))
        ->SetQueue(CreateObject<StrictPriority>());

    struct { int node, gateway, end, interface; } routes[] = {
        {LOW, 0, 1, 1}, {HIGH, 1, 1, 1}, {ROUTER, 2, 1, 3}, {DEVICE, 3, 1, 2},
        {RIGHT, 3, 0, 1}, {LOW_RECEIVER, 4, 0, 1}, {HIGH_RECEIVER, 5, 0, 1}};
    for (int at = 0; at < NODES; ++at)
        routing.GetStaticRouting(nodes.Get(routes[at].node)->GetObject<Ipv4>())
            ->SetDefaultRoute(ends[routes[at].gateway].GetAddress(routes[at].end),
                              routes[at].interface);
    Ptr<Ipv4StaticRouting> back = routing.GetStaticRouting(nodes.Get(DEVICE)->GetObject<Ipv4>());
    back->AddNetworkRouteTo("10.0.0.0", "255.255.255.0", ends[2].GetAddress(0), 1);
    back->AddNetworkRouteTo("10.0.1.0", "255.255.255.0", ends[2].GetAddress(0), 1);

    for (int flow = 0; flow < 2; ++flow)
    {
        const char* tcp = "ns3::TcpSocketFactory";
        PacketSinkHelper sink(tcp, InetSocketAddress(Ipv4Address::GetAny(), 5000));
        Ptr<Application> receiver = sink.Install(nodes.Get(LOW_RECEIVER + flow)).Get(0);
        if (flow == 0)
            receiver->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
        BulkSendHelper bulk(tcp, InetSocketAddress(ends[4 + flow].GetAddress(1), 5000));
        bulk.SetAttribute("MaxBytes", UintegerValue(SIZE));
        bulk.Install(nodes.Get(flow)).Start(Seconds(2.0 * flow));
    }
    Simulator::Stop(Seconds(600));
    Simulator::Run();
    std::cout << ended << std::endl;
    return 0;
}
