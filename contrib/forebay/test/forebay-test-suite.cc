// The tests of the queue disc, in ns-3's manner: ./test.py -s forebay

#include "ns3/codel-queue-disc.h"
#include "ns3/fifo-queue-disc.h"
#include "ns3/forebay-queue-disc.h"
#include "ns3/pie-queue-disc.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"

using namespace ns3;

namespace
{

/// A packet of a flow that understands ECN, or does not.
class Item : public QueueDiscItem
{
  public:
    Item(uint32_t bytes, uint32_t flow, bool ecn)
        : QueueDiscItem(Create<Packet>(bytes), Address(), 0),
          m_flow(flow),
          m_ecn(ecn)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        return m_ecn;
    }

    bool GetUint8Value(Uint8Values field, uint8_t& value) const override
    {
        value = m_ecn ? 2 : 0;
        return field == QueueItem::IP_DSFIELD;
    }

    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

  private:
    uint32_t m_flow;
    bool m_ecn;
};

Ptr<ForebayQueueDisc>
Made(const std::string& kind, const std::string& parameters)
{
    auto disc = CreateObject<ForebayQueueDisc>();
    disc->SetAttribute("Kind", StringValue(kind));
    disc->SetAttribute("Parameters", StringValue(parameters));
    disc->Initialize();
    return disc;
}

} // namespace

/// Packets leave in the order of their arrival, and what does not fit is counted under ns-3's reason.
class ForebayFifoTestCase : public TestCase
{
  public:
    ForebayFifoTestCase()
        : TestCase("fifo: order, limit and ns-3's reason")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = Made("fifo", R"({"limit":"3p"})");
        std::vector<Ptr<Item>> items;
        for (uint32_t bytes = 100; bytes < 105; ++bytes)
        {
            items.push_back(Create<Item>(bytes, 1, false));
            NS_TEST_EXPECT_MSG_EQ(disc->Enqueue(items.back()), bytes < 103, "three packets fit");
        }
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 3, "packets that wait");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNBytes(), 303, "their bytes");
        for (uint32_t at = 0; at < 3; ++at)
        {
            NS_TEST_EXPECT_MSG_EQ(disc->Dequeue(), items[at], "the order of arrival");
        }
        NS_TEST_EXPECT_MSG_EQ(disc->Dequeue(), nullptr, "nothing is left");
        const auto& stats = disc->GetStats();
        NS_TEST_EXPECT_MSG_EQ(stats.GetNDroppedPackets(FifoQueueDisc::LIMIT_EXCEEDED_DROP),
                              2,
                              "the reason of FifoQueueDisc");
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalDroppedPacketsBeforeEnqueue, 2, "before they joined");
        disc->Dispose();
    }
};

/// CoDel knows how long packets wait: it drops or marks above its target, and not below.
class ForebayCodelTestCase : public TestCase
{
  public:
    /// Every packet waits for `wait` ms; the target is 20 ms.
    ForebayCodelTestCase(uint32_t wait, bool ecn)
        : TestCase("codel: packets wait " + std::to_string(wait) + " ms" + (ecn ? ", ECN" : "")),
          m_wait(wait),
          m_ecn(ecn)
    {
    }

  private:
    void DoRun() override
    {
        auto disc = Made("codel", R"({"target":"20ms","interval":"100ms","ecn":true})");
        uint32_t left = 0;
        for (uint32_t ms = 0; ms < 2000; ++ms)
        {
            Simulator::Schedule(MilliSeconds(ms), [=, this] {
                disc->Enqueue(Create<Item>(1200, 1, m_ecn));
            });
            Simulator::Schedule(MilliSeconds(ms + m_wait), [disc, &left] {
                left += disc->Dequeue() != nullptr;
            });
        }
        Simulator::Run();
        const auto& stats = disc->GetStats();
        const bool above = m_wait > 20;
        const auto drops = stats.GetNDroppedPackets(CoDelQueueDisc::TARGET_EXCEEDED_DROP);
        const auto marks = stats.GetNMarkedPackets(CoDelQueueDisc::TARGET_EXCEEDED_MARK);
        NS_TEST_EXPECT_MSG_EQ(drops > 0, above && !m_ecn, "dropped " << drops);
        NS_TEST_EXPECT_MSG_EQ(marks > 0, above && m_ecn, "marked " << marks);
        NS_TEST_EXPECT_MSG_EQ(left + drops + disc->GetNPackets(), 2000, "no packet is lost");
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalDroppedPackets, drops, "no other reason");
        Simulator::Destroy();
    }

    uint32_t m_wait;
    bool m_ecn;
};

/// A full FQ-CoDel drops packets of the longest queue, which wait already.
class ForebayFqCodelTestCase : public TestCase
{
  public:
    ForebayFqCodelTestCase()
        : TestCase("fq-codel: the longest queue pays, and both flows are served")
    {
    }

  private:
    void DoRun() override
    {
        auto disc = Made("fq-codel", R"({"limit":"100p"})");
        for (uint32_t each = 0; each < 300; ++each)
        {
            disc->Enqueue(Create<Item>(1000, 1, false));
        }
        auto sparse = Create<Item>(200, 2, false);
        NS_TEST_EXPECT_MSG_EQ(disc->Enqueue(sparse), true, "the other flow has room");
        bool served = false;
        for (uint32_t each = 0; each < 3; ++each)
        {
            served = served || disc->Dequeue() == sparse;
        }
        NS_TEST_EXPECT_MSG_EQ(served, true, "and is served among the first");
        const auto& stats = disc->GetStats();
        const auto over = stats.GetNDroppedPackets(CoDelQueueDisc::OVERLIMIT_DROP);
        NS_TEST_EXPECT_MSG_EQ(stats.nTotalDroppedPackets, over, "all for this reason");
        NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets() + over + 3, 301, "no packet is lost");
        disc->Dispose();
    }
};

/// The texts under which drops are counted.
class ForebayReasonsTestCase : public TestCase
{
  public:
    ForebayReasonsTestCase()
        : TestCase("reasons: ns-3's where it has the discipline, forebay's elsewhere")
    {
    }

  private:
    void DoRun() override
    {
        const std::string pie = ForebayReasons::Of("pie").Drop(FOREBAY_AQM);
        NS_TEST_EXPECT_MSG_EQ(pie, PieQueueDisc::UNFORCED_DROP, "PIE's");
        const std::string full = ForebayReasons::Of("red").Drop(FOREBAY_OVERFLOW);
        NS_TEST_EXPECT_MSG_EQ(full, PieQueueDisc::FORCED_DROP, "RED's and PIE's");
        const std::string own = ForebayReasons::Of("cp-aqm").Drop(FOREBAY_POLICED);
        NS_TEST_EXPECT_MSG_EQ(own, "policed", "forebay's");
    }
};

class ForebayTestSuite : public TestSuite
{
  public:
    ForebayTestSuite()
        : TestSuite("forebay", Type::UNIT)
    {
        AddTestCase(new ForebayFifoTestCase);
        for (const uint32_t wait : {10, 40})
        {
            AddTestCase(new ForebayCodelTestCase(wait, false));
            AddTestCase(new ForebayCodelTestCase(wait, true));
        }
        AddTestCase(new ForebayFqCodelTestCase);
        AddTestCase(new ForebayReasonsTestCase);
    }
};

static ForebayTestSuite g_forebayTestSuite;
