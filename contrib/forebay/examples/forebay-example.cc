// Uploads and a call share a link, under a queue disc of ns-3 or a discipline of forebay:
//
//   ./ns3 run "forebay-example --kind=fq-codel"
//   ./ns3 run "forebay-example --plugin=libmy_aqm.so --kind=my-aqm"
//   ./ns3 run "forebay-example --native=ns3::FqCoDelQueueDisc"
//
// It prints what the queue disc counted, and the mean delay of the call.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/forebay-queue-disc.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string kind = "fq-codel";
    std::string plugin;
    std::string parameters = "{}";
    std::string native;
    uint32_t uploads = 4;
    double seconds = 20;
    CommandLine line(__FILE__);
    line.AddValue("kind", "forebay's name of the discipline", kind);
    line.AddValue("plugin", "the plug-in that has it, if it is not forebay's own", plugin);
    line.AddValue("parameters", "its parameters as JSON, without spaces", parameters);
    line.AddValue("native", "a queue disc of ns-3 in its place", native);
    line.AddValue("uploads", "number of TCP transfers", uploads);
    line.AddValue("seconds", "simulated time", seconds);
    line.Parse(argc, argv);

    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    wire.SetChannelAttribute("Delay", StringValue("20ms"));
    // The queue disc feeds the link packet by packet.
    wire.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = wire.Install(nodes);

    TrafficControlHelper helper;
    if (native.empty())
    {
        helper.SetRootQueueDisc("ns3::ForebayQueueDisc",
                                "Kind",
                                StringValue(kind),
                                "Plugin",
                                StringValue(plugin),
                                "Parameters",
                                StringValue(parameters),
                                "LinkBandwidth",
                                StringValue("10Mbps"));
    }
    else
    {
        helper.SetRootQueueDisc(native);
    }
    Ptr<QueueDisc> disc = helper.Install(devices.Get(0)).Get(0);
    Ipv4InterfaceContainer ends = Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);

    const uint16_t port = 5001;
    InetSocketAddress sink(ends.GetAddress(1), port);
    BulkSendHelper upload("ns3::TcpSocketFactory", sink);
    upload.SetAttribute("MaxBytes", UintegerValue(0));
    for (uint32_t each = 0; each < uploads; ++each)
    {
        upload.Install(nodes.Get(0)).Start(MilliSeconds(100 * each));
    }
    PacketSinkHelper("ns3::TcpSocketFactory", sink).Install(nodes.Get(1));

    // 50 packets of 200 bytes a second.
    InetSocketAddress callee(ends.GetAddress(1), port + 1);
    OnOffHelper call("ns3::UdpSocketFactory", callee);
    call.SetConstantRate(DataRate("80kbps"), 200);
    call.Install(nodes.Get(0)).Start(Seconds(1));
    PacketSinkHelper("ns3::UdpSocketFactory", callee).Install(nodes.Get(1));

    FlowMonitorHelper helperOfFlows;
    Ptr<FlowMonitor> monitor = helperOfFlows.InstallAll();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();

    std::cout << disc->GetStats() << std::endl;
    auto classifier = DynamicCast<Ipv4FlowClassifier>(helperOfFlows.GetClassifier());
    for (const auto& [flow, found] : monitor->GetFlowStats())
    {
        if (classifier->FindFlow(flow).destinationPort == port + 1 && found.rxPackets > 0)
        {
            std::cout << "call: " << found.rxPackets << " packets, mean delay "
                      << found.delaySum.GetSeconds() * 1e3 / found.rxPackets << " ms" << std::endl;
        }
    }
    Simulator::Destroy();
    return 0;
}
