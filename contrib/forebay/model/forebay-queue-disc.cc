#include "forebay-queue-disc.h"

#include <ns3/codel-queue-disc.h>
#include <ns3/fifo-queue-disc.h>
#include <ns3/log.h>
#include <ns3/pie-queue-disc.h>
#include <ns3/simulator.h>
#include <ns3/socket.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <dlfcn.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("ForebayQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(ForebayStore);
NS_OBJECT_ENSURE_REGISTERED(ForebayQueueDisc);

TypeId
ForebayStore::GetTypeId()
{
    static TypeId id =
        TypeId("ns3::ForebayStore").SetParent<Queue<QueueDiscItem>>().AddConstructor<ForebayStore>();
    return id;
}

ForebayStore::ForebayStore()
{
    // Limits are the discipline's.
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX));
}

void
ForebayStore::Put(uint32_t id, Ptr<QueueDiscItem> item)
{
    Iterator place;
    DoEnqueue(GetContainer().end(), item, place);
    m_places[id] = place;
}

Ptr<QueueDiscItem>
ForebayStore::Take(uint32_t id)
{
    const auto found = m_places.find(id);
    NS_ABORT_MSG_IF(found == m_places.end(), "forebay: packet " << id << " is not held");
    const ConstIterator place = found->second;
    m_places.erase(found);
    return DoDequeue(place);
}

Ptr<QueueDiscItem>
ForebayStore::At(uint32_t id) const
{
    return *m_places.at(id);
}

// Items come and go by their handles alone.
bool
ForebayStore::Enqueue(Ptr<QueueDiscItem>)
{
    NS_FATAL_ERROR("a ForebayStore is its queue disc's alone");
}

Ptr<QueueDiscItem>
ForebayStore::Dequeue()
{
    NS_FATAL_ERROR("a ForebayStore is its queue disc's alone");
}

Ptr<QueueDiscItem>
ForebayStore::Remove()
{
    NS_FATAL_ERROR("a ForebayStore is its queue disc's alone");
}

Ptr<const QueueDiscItem>
ForebayStore::Peek() const
{
    return GetContainer().empty() ? nullptr : DoPeek(GetContainer().begin());
}

ForebayReasons
ForebayReasons::Of(const std::string& kind)
{
    const auto ends = [&](const std::string& with) {
        return kind.size() >= with.size() &&
               kind.compare(kind.size() - with.size(), with.size(), with) == 0;
    };
    ForebayReasons reasons{FifoQueueDisc::LIMIT_EXCEEDED_DROP,
                           PieQueueDisc::UNFORCED_DROP,
                           PieQueueDisc::UNFORCED_MARK};
    if (ends("codel") || kind == "cobalt" || kind == "cake")
    {
        reasons = {CoDelQueueDisc::OVERLIMIT_DROP,
                   CoDelQueueDisc::TARGET_EXCEEDED_DROP,
                   CoDelQueueDisc::TARGET_EXCEEDED_MARK};
    }
    else if (kind == "fq-pie")
    {
        reasons.overflow = CoDelQueueDisc::OVERLIMIT_DROP;
    }
    else if (kind == "pie" || kind == "red")
    {
        reasons.overflow = PieQueueDisc::FORCED_DROP;
    }
    return reasons;
}

const char*
ForebayReasons::Drop(uint32_t reason) const
{
    switch (reason)
    {
    case FOREBAY_OVERFLOW:
        return overflow;
    case FOREBAY_AQM:
        return aqm;
    default:
        return forebay_reason(reason);
    }
}

TypeId
ForebayQueueDisc::GetTypeId()
{
    static TypeId id =
        TypeId("ns3::ForebayQueueDisc")
            .SetParent<QueueDisc>()
            .AddConstructor<ForebayQueueDisc>()
            .AddAttribute("Kind",
                          "Forebay's name of the discipline; \"combination\" for any parts",
                          StringValue("fifo"),
                          MakeStringAccessor(&ForebayQueueDisc::m_kindName),
                          MakeStringChecker())
            .AddAttribute("Plugin",
                          "File of the plug-in that has it; empty for forebay's own",
                          StringValue(""),
                          MakeStringAccessor(&ForebayQueueDisc::m_plugin),
                          MakeStringChecker())
            .AddAttribute("Parameters",
                          "Its parameters as JSON; what is left out has its default",
                          StringValue("{}"),
                          MakeStringAccessor(&ForebayQueueDisc::m_parameters),
                          MakeStringChecker())
            .AddAttribute("LinkBandwidth",
                          "Rate of the link behind it",
                          DataRateValue(DataRate("10Mbps")),
                          MakeDataRateAccessor(&ForebayQueueDisc::m_bandwidth),
                          MakeDataRateChecker())
            .AddAttribute("Overhead",
                          "Bytes that the link adds to every IP packet",
                          UintegerValue(2),
                          MakeUintegerAccessor(&ForebayQueueDisc::m_overhead),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Mtu",
                          "Largest IP packet in bytes",
                          UintegerValue(1500),
                          MakeUintegerAccessor(&ForebayQueueDisc::m_mtu),
                          MakeUintegerChecker<uint32_t>());
    return id;
}

ForebayQueueDisc::ForebayQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
{
    m_random = CreateObject<UniformRandomVariable>();
}

ForebayQueueDisc::~ForebayQueueDisc() = default;

void
ForebayQueueDisc::DoDispose()
{
    m_wake.Cancel();
    if (m_queue != nullptr)
    {
        m_kind->destroy(m_queue);
        m_queue = nullptr;
    }
    m_store = nullptr;
    QueueDisc::DoDispose();
}

bool
ForebayQueueDisc::CheckConfig()
{
    if (GetNInternalQueues() == 0)
    {
        AddInternalQueue(CreateObject<ForebayStore>());
    }
    m_store = DynamicCast<ForebayStore>(GetInternalQueue(0));
    return m_store && GetNQueueDiscClasses() == 0 && GetNPacketFilters() == 0;
}

// A plug-in stays loaded, as queues of it may be made later.
static const ForebayDiscipline*
FromPlugin(const std::string& file, const std::string& name)
{
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    NS_ABORT_MSG_IF(library == nullptr, "forebay: " << dlerror());
    void* symbol = dlsym(library, "forebay_plugin");
    NS_ABORT_MSG_IF(symbol == nullptr, file << ": exports no forebay_plugin");
    const auto plugin = reinterpret_cast<decltype(&forebay_plugin)>(symbol);
    const ForebayDiscipline* kind = nullptr;
    for (uint32_t index = 0; (kind = plugin(index)) != nullptr; ++index)
    {
        const uint32_t major = kind->version >> 16;
        NS_ABORT_MSG_IF(major != FOREBAY_MAJOR,
                        file << ": is for version " << major << " of the interface, this is "
                             << FOREBAY_MAJOR);
        if (name == kind->name)
        {
            NS_ABORT_MSG_IF(kind->effective == nullptr,
                            file << ": \"" << name
                                 << "\" has no `effective`, and nothing here fills in its defaults");
            return kind;
        }
    }
    return nullptr;
}

void
ForebayQueueDisc::InitializeParams()
{
    m_kind = m_plugin.empty() ? forebay_discipline(m_kindName.c_str())
                              : FromPlugin(m_plugin, m_kindName);
    NS_ABORT_MSG_IF(m_kind == nullptr,
                    (m_plugin.empty() ? "forebay" : m_plugin)
                        << " has no discipline \"" << m_kindName << "\"");
    m_reasons = ForebayReasons::Of(m_kindName);
    ForebaySetting setting{};
    setting.struct_size = sizeof setting;
    setting.version = FOREBAY_VERSION;
    setting.rate = m_bandwidth.GetBitRate();
    setting.overhead = m_overhead;
    setting.mtu = m_mtu;
    char error[512] = "";
    m_queue = m_kind->create(m_kind, m_parameters.c_str(), &setting, error, sizeof error);
    NS_ABORT_MSG_IF(m_queue == nullptr, "forebay, " << m_kindName << ": " << error);
}

ForebayContext
ForebayQueueDisc::Context()
{
    ForebayContext cx{};
    cx.struct_size = sizeof cx;
    cx.now = static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());
    cx.host = this;
    cx.drop = Drop;
    cx.mark = MarkPacket;
    cx.random = Random;
    return cx;
}

void
ForebayQueueDisc::Failed() const
{
    const char* fault = m_kind->fault == nullptr ? nullptr : m_kind->fault(m_queue);
    NS_FATAL_ERROR("forebay, " << m_kindName << ": " << (fault == nullptr ? "it failed" : fault));
}

void
ForebayQueueDisc::Drop(ForebayContext* cx, const ForebayPacket* packet, uint32_t reason)
{
    auto* self = static_cast<ForebayQueueDisc*>(cx->host);
    self->m_free.push_back(packet->id);
    if (self->m_arriving && packet->id == self->m_arrivingId)
    {
        self->DropBeforeEnqueue(self->m_arriving, self->m_reasons.Drop(reason));
        self->m_arriving = nullptr;
        return;
    }
    self->DropAfterDequeue(self->m_store->Take(packet->id), self->m_reasons.Drop(reason));
}

bool
ForebayQueueDisc::MarkPacket(ForebayContext* cx, ForebayPacket* packet)
{
    auto* self = static_cast<ForebayQueueDisc*>(cx->host);
    const bool arrives = self->m_arriving && packet->id == self->m_arrivingId;
    // What leaves is marked before it is taken out of the store.
    const auto item = arrives ? self->m_arriving : self->m_store->At(packet->id);
    if (!self->Mark(item, self->m_reasons.mark))
    {
        return false;
    }
    packet->tos |= 3;
    return true;
}

uint64_t
ForebayQueueDisc::Random(ForebayContext* cx)
{
    const auto& random = static_cast<ForebayQueueDisc*>(cx->host)->m_random;
    const uint64_t high = random->GetInteger(0, UINT32_MAX);
    return high << 32 | random->GetInteger(0, UINT32_MAX);
}

bool
ForebayQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    uint8_t tos = 0;
    item->GetUint8Value(QueueItem::IP_DSFIELD, tos);
    SocketPriorityTag tag;
    const bool tagged = item->GetPacket()->PeekPacketTag(tag);
    const uint8_t priority = tagged ? tag.GetPriority() : 0;
    uint32_t id = m_next;
    if (m_free.empty())
    {
        ++m_next;
    }
    else
    {
        id = m_free.back();
        m_free.pop_back();
    }
    ForebayContext cx = Context();
    ForebayPacket packet{};
    packet.id = id;
    packet.len = item->GetSize();
    packet.flow = item->Hash();
    packet.qos_class = priority;
    packet.precedence = priority;
    packet.tos = tos;
    packet.queued = cx.now;
    m_arriving = item;
    m_arrivingId = id;
    if (m_kind->enqueue(m_queue, &packet, &cx) == FOREBAY_FAILED)
    {
        Failed();
    }
    const bool stays = m_arriving != nullptr;
    m_arriving = nullptr;
    if (stays)
    {
        m_store->Put(id, item);
    }
    return stays;
}

Ptr<QueueDiscItem>
ForebayQueueDisc::DoDequeue()
{
    ForebayContext cx = Context();
    while (m_kind->backlog(m_queue).packets > 0)
    {
        const uint64_t at = m_kind->wake(m_queue, cx.now);
        if (at > cx.now)
        {
            // It shapes: the link asks again then.
            if (at != FOREBAY_IDLE && m_wake.IsExpired())
            {
                m_wake = Simulator::Schedule(NanoSeconds(at - cx.now), &QueueDisc::Run, this);
            }
            return nullptr;
        }
        ForebayPacket packet;
        const int32_t answer = m_kind->dequeue(m_queue, &packet, &cx);
        if (answer == FOREBAY_FAILED)
        {
            Failed();
        }
        if (answer == FOREBAY_SENT)
        {
            m_free.push_back(packet.id);
            return m_store->Take(packet.id);
        }
    }
    return nullptr;
}

} // namespace ns3
