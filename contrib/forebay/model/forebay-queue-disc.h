// ns-3: a queue disc that hosts any of forebay's disciplines.
//
//   TrafficControlHelper helper;
//   helper.SetRootQueueDisc("ns3::ForebayQueueDisc", "Kind", StringValue("codel"),
//                           "Parameters", StringValue("{\"target\": \"2ms\"}"),
//                           "LinkBandwidth", DataRateValue(DataRate("10Mbps")));
//
// A packet's flow is its hash, its QoS class and precedence are those of its socket's priority, its
// codepoint and ECN field those of its header. Drops and marks are counted under the reasons that
// ns-3's own disciplines have (ForebayReasons). docs/coming-from-ns3.md says how it is built.

#ifndef FOREBAY_QUEUE_DISC_H
#define FOREBAY_QUEUE_DISC_H

#include <forebay.h>
#include <ns3/data-rate.h>
#include <ns3/event-id.h>
#include <ns3/queue-disc.h>
#include <ns3/queue.h>
#include <ns3/random-variable-stream.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace ns3
{

/// Items in the order of their arrival, of which any can be taken.
class ForebayStore : public Queue<QueueDiscItem>
{
  public:
    static TypeId GetTypeId();
    ForebayStore();
    void Put(uint32_t id, Ptr<QueueDiscItem> item);
    Ptr<QueueDiscItem> Take(uint32_t id);
    Ptr<QueueDiscItem> At(uint32_t id) const;

    bool Enqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> Dequeue() override;
    Ptr<QueueDiscItem> Remove() override;
    Ptr<const QueueDiscItem> Peek() const override;

  private:
    std::unordered_map<uint32_t, ConstIterator> m_places;
};

/// What ns-3's statistics call a drop or a mark. Where ns-3 has the discipline, it is the text of its
/// own constants, such as CoDelQueueDisc::TARGET_EXCEEDED_DROP. Reasons without a counterpart there
/// have forebay's names (forebay_reason).
struct ForebayReasons
{
    /// Of a discipline, by forebay's name.
    static ForebayReasons Of(const std::string& kind);
    /// The text for one of forebay's reasons (FOREBAY_OVERFLOW and so on).
    const char* Drop(uint32_t reason) const;

    /// The buffer had no room.
    const char* overflow;
    /// A rule of active queue management dropped it.
    const char* aqm;
    /// A rule of active queue management marked it.
    const char* mark;
};

class ForebayQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();
    ForebayQueueDisc();
    ~ForebayQueueDisc() override;

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;
    ForebayContext Context();
    void Failed() const;

    static void Drop(ForebayContext* cx, const ForebayPacket* packet, uint32_t reason);
    static bool MarkPacket(ForebayContext* cx, ForebayPacket* packet);
    static uint64_t Random(ForebayContext* cx);

    std::string m_kindName;
    std::string m_plugin;
    std::string m_parameters;
    DataRate m_bandwidth;
    uint32_t m_overhead;
    uint32_t m_mtu;
    const ForebayDiscipline* m_kind = nullptr;
    ForebayReasons m_reasons;
    void* m_queue = nullptr;
    Ptr<ForebayStore> m_store;
    Ptr<UniformRandomVariable> m_random;
    /// Handles that are free again.
    std::vector<uint32_t> m_free;
    uint32_t m_next = 0;
    /// The item that is being enqueued, NULL once it has been dropped.
    Ptr<QueueDiscItem> m_arriving;
    uint32_t m_arrivingId = 0;
    EventId m_wake;
};

} // namespace ns3

#endif
