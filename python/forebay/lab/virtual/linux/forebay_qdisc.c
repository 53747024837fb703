// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The kernel's queue disciplines in the place of a gate's own. A device has the discipline, as tc
 * sets it up, and sends nothing. The gate hands copies of its packets to the discipline and asks
 * for them one by one, when the link is free, as a driver does that holds one packet. Each copy
 * says by its destructor when the kernel drops it.
 *
 * A discipline that shapes gives nothing for a while, and then calls for itself. The device lets
 * its queue run only as long as that is awaited; the packet is kept until the gate asks again.
 */
#include <linux/ip.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <net/gen_stats.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/route.h>
#include <net/sch_generic.h>

#include "forebay_qdisc.h"

struct queue {
	struct net_device *dev;
	void *link;
	int side;
	void (*ready)(void *link, int side);
	void *owner;
	void (*lost)(void *owner, u32 id, int why);
	enum loss why; /* of what is lost now */
	bool counted; /* nothing has been lost since `overflows` was read */
	bool waits; /* for the discipline to call */
	u64 overflows;
	struct sk_buff *arriving;
	struct sk_buff *given; /* by the discipline's own clock */
};

/* In the headroom of a copy. */
struct tag {
	struct queue *queue;
	u32 id;
};

static struct tag *tag_of(const struct sk_buff *skb)
{
	return (struct tag *)skb->head;
}

static struct Qdisc *root_of(const struct queue *queue)
{
	return rcu_dereference_raw(netdev_get_tx_queue(queue->dev, 0)->qdisc);
}

/* ---- why a packet is dropped when one arrives ---- */

#define DROPS SIZE_MAX /* every drop at an arrival is for lack of room */

/* Where each kind counts packets for which there was no room: a place in its statistics. */
static const struct {
	const char *kind;
	size_t at;
} counters[] = {
	{ "bfifo", DROPS },
	{ "cake", DROPS },
	{ "choke", offsetof(struct tc_choke_xstats, pdrop) },
	{ "codel", offsetof(struct tc_codel_xstats, drop_overlimit) },
	{ "fq", DROPS },
	{ "fq_codel", offsetof(struct tc_fq_codel_xstats, qdisc_stats.drop_overlimit) },
	{ "fq_pie", offsetof(struct tc_fq_pie_xstats, overlimit) },
	{ "hhf", DROPS },
	{ "pfifo", DROPS },
	{ "pfifo_fast", DROPS },
	{ "pfifo_head_drop", DROPS },
	{ "pie", offsetof(struct tc_pie_xstats, overlimit) },
	{ "red", offsetof(struct tc_red_xstats, pdrop) },
	{ "sfb", offsetof(struct tc_sfb_xstats, queuedrop) },
	{ "sfq", DROPS },
};

static u64 overflows_of(struct Qdisc *qdisc)
{
	struct gnet_dump dump = { .compat_xstats = TCA_XSTATS };
	struct gnet_stats_queue stats = {};
	u64 found = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (!strcmp(qdisc->ops->id, counters[i].kind))
			break;
	if (i == ARRAY_SIZE(counters))
		return 0;
	if (counters[i].at == DROPS) {
		gnet_stats_add_queue(&stats, qdisc->cpu_qstats, &qdisc->qstats);
		return stats.drops;
	}
	if (!qdisc->ops->dump_stats(qdisc, &dump) && dump.xstats)
		found = *(u32 *)(dump.xstats + counters[i].at);
	kfree(dump.xstats);
	return found;
}

/* Of the discipline, and of all below it. */
static u64 overflows(const struct queue *queue)
{
	u64 sum = overflows_of(root_of(queue));
	struct Qdisc *qdisc;
	int bucket;

	hash_for_each(queue->dev->qdisc_hash, bucket, qdisc, hash)
		sum += overflows_of(qdisc);
	return sum;
}

static void count(struct queue *queue)
{
	if (!queue->counted)
		queue->overflows = overflows(queue);
	queue->counted = true;
}

/* ---- packets ---- */

static void lost(struct sk_buff *skb)
{
	struct queue *queue = tag_of(skb)->queue;

	queue->counted = false;
	if (queue->arriving == skb)
		queue->arriving = NULL;
	if (queue->lost)
		queue->lost(queue->owner, tag_of(skb)->id, queue->why);
}

static struct sk_buff *copy(struct queue *queue, u32 id, const u8 *packet, size_t size)
{
	struct sk_buff *skb = alloc_skb(size + LL_MAX_HEADER, GFP_ATOMIC);

	if (!skb)
		panic("forebay: no memory for packets; give the guest more");
	BUILD_BUG_ON(sizeof(struct tag) > LL_MAX_HEADER);
	skb_reserve(skb, LL_MAX_HEADER);
	skb_put_data(skb, packet, size);
	skb_reset_network_header(skb);
	skb->dev = queue->dev;
	skb->protocol = htons(ETH_P_IP);
	/* As of a packet that a router forwards. */
	skb->priority = rt_tos2priority(ip_hdr(skb)->tos);
	*tag_of(skb) = (struct tag){ queue, id };
	skb->destructor = lost;
	return skb;
}

static int enqueue(void *to, u32 id, const u8 *packet, size_t size)
{
	struct queue *queue = to;
	struct Qdisc *root = root_of(queue);
	struct sk_buff *skb = copy(queue, id, packet, size), *dropped = NULL;

	netif_stop_queue(queue->dev);
	queue->waits = false;
	count(queue);
	queue->arriving = skb;
	qdisc_skb_cb(skb)->pkt_len = size;
	qdisc_calculate_pkt_len(skb, root);
	/* What is dropped is handed out; only CAKE's filter of acknowledgments frees packets itself. */
	queue->why = LOSS_REDUNDANT_ACK;
	spin_lock(qdisc_lock(root));
	root->enqueue(skb, root, &dropped);
	spin_unlock(qdisc_lock(root));
	queue->why = LOSS_AQM;
	if (dropped) {
		if (overflows(queue) != queue->overflows)
			queue->why = LOSS_OVERFLOW;
		kfree_skb_list(dropped);
		queue->why = LOSS_AQM;
	}
	return queue->arriving ? ip_hdr(skb)->tos : -1;
}

static int dequeue(void *from, u32 *id, u8 *tos)
{
	struct queue *queue = from;
	struct Qdisc *root = root_of(queue);
	struct sk_buff *skb = queue->given;

	queue->given = NULL;
	if (!skb) {
		spin_lock(qdisc_lock(root));
		skb = root->dequeue(root);
		spin_unlock(qdisc_lock(root));
	}
	if (!skb) {
		queue->waits = qdisc_qlen_sum(root) > 0;
		if (queue->waits)
			netif_start_queue(queue->dev);
		return false;
	}
	*id = tag_of(skb)->id;
	*tos = ip_hdr(skb)->tos;
	skb->destructor = NULL;
	consume_skb(skb);
	return true;
}

static int state(const void *of)
{
	const struct queue *queue = of;

	if (queue->given)
		return STATE_READY;
	if (!qdisc_qlen_sum(root_of(queue)))
		return STATE_IDLE;
	return queue->waits ? STATE_WAITS : STATE_READY;
}

/* ---- devices ---- */

static netdev_tx_t queue_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct queue *queue = netdev_priv(dev);

	netif_stop_queue(dev);
	queue->waits = false;
	queue->given = skb;
	queue->ready(queue->link, queue->side);
	return NETDEV_TX_OK;
}

static const struct net_device_ops queue_ops = { .ndo_start_xmit = queue_xmit };

static void setup(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->mtu = ETH_DATA_LEN;
	dev->max_mtu = 65535;
	dev->tx_queue_len = DEFAULT_TX_QUEUE_LEN;
}

struct net_device *qdisc_device(const char *name, void *link, int side,
				void (*ready)(void *link, int side))
{
	struct net_device *dev =
		alloc_netdev(sizeof(struct queue), name, NET_NAME_USER, setup);
	struct queue *queue;
	int error;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev_net_set(dev, current->nsproxy->net_ns);
	dev->netdev_ops = &queue_ops;
	queue = netdev_priv(dev);
	queue->dev = dev;
	queue->link = link;
	queue->side = side;
	queue->ready = ready;
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return ERR_PTR(error);
	}
	netif_stop_queue(dev);
	return dev;
}

void qdisc_clear(struct net_device *dev)
{
	struct queue *queue = netdev_priv(dev);
	struct Qdisc *root;

	rtnl_lock();
	root = root_of(queue);
	spin_lock_bh(qdisc_lock(root));
	qdisc_reset(root);
	kfree_skb(queue->given);
	queue->given = NULL;
	spin_unlock_bh(qdisc_lock(root));
	rtnl_unlock();
}

static void *attach(const char *name, void *owner, void (*told)(void *owner, u32 id, int why))
{
	struct net_device *dev = __dev_get_by_name(&init_net, name);
	struct queue *queue;

	if (!dev || dev->netdev_ops != &queue_ops || !root_of(netdev_priv(dev))->enqueue)
		return NULL;
	queue = netdev_priv(dev);
	queue->owner = owner;
	queue->lost = told;
	return queue;
}

static void detach(void *from, const void *owner)
{
	struct queue *queue = from;

	if (queue->owner == owner)
		queue->lost = NULL;
}

const struct qdisc_calls qdisc_calls = {
	.attach = attach,
	.detach = detach,
	.enqueue = enqueue,
	.dequeue = dequeue,
	.state = state,
};
