// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Links of a virtual lab, built into the guest's kernel: a network device for each end, and a gate
 * between them that runs in the process of the kernel itself. libforebay_gate.so, preloaded, is the
 * gate (crates/gate/src/guest.rs has its side of the functions below).
 *
 * A line written to /proc/forebay/gates is carried out at once, in the network namespace of the
 * writer:
 *
 *   open NAME    a gate that NAME.toml of the folder of the run configures
 *   close NAME   ends the gate; until the next one its devices lose what they are given
 *   queue NAME N a device NAME.qN, whose discipline the gate may ask for what comes in at end N
 *
 * The first line with a name brings the devices NAME.0 (inside) and NAME.1 (outside).
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <net/ip.h>
#include <net/net_namespace.h>

#include "forebay_qdisc.h"

#define NEVER U64_MAX
#define NAME 12 /* with the three letters of a queue it is a device's */

struct link {
	struct list_head list;
	char name[NAME];
	struct net_device *ends[2];
	struct net_device *queues[2]; /* disciplines of the kernel, of what comes in at each end */
	spinlock_t lock;
	struct hrtimer timer;
	void *gate;
};

struct end {
	struct link *link;
	int side;
};

/* The gate's functions; times in ns of CLOCK_MONOTONIC. `arrive`, `ready` and `turn` return when
 * the gate wants to be called next. Errors are written to NAME.log by the gate. */
static struct {
	void *(*open)(const char *name, void *link,
		      void (*emit)(void *link, int side, const u8 *packet, size_t size),
		      const struct qdisc_calls *qdiscs);
	u64 (*arrive)(void *gate, int side, const u8 *packet, size_t size, u64 now);
	u64 (*ready)(void *gate, int side, u64 now);
	u64 (*turn)(void *gate, u64 now);
	void (*close)(void *gate);
} library;

static LIST_HEAD(links);
static DEFINE_MUTEX(links_lock);

/* What the C library offers to the process that this kernel is. */
extern void *dlsym(void *handle, const char *symbol);

/* The gate sends a packet out at an end. */
static void emit(void *to, int side, const u8 *packet, size_t size)
{
	struct link *link = to;
	struct net_device *dev = link->ends[side];
	struct sk_buff *skb = alloc_skb(size + LL_MAX_HEADER, GFP_ATOMIC);

	if (!skb)
		panic("forebay: no memory for packets; give the guest more");
	skb_reserve(skb, LL_MAX_HEADER);
	skb_put_data(skb, packet, size);
	skb_reset_network_header(skb);
	skb->dev = dev;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += size;
	netif_rx(skb);
}

static void arm(struct link *link, u64 due)
{
	if (due == NEVER)
		hrtimer_try_to_cancel(&link->timer);
	else
		hrtimer_start(&link->timer, ns_to_ktime(due), HRTIMER_MODE_ABS_HARD);
}

static netdev_tx_t end_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct end *end = netdev_priv(dev);
	struct link *link = end->link;
	unsigned long flags;

	spin_lock_irqsave(&link->lock, flags);
	if (!link->gate || skb_linearize(skb)) {
		dev->stats.tx_dropped++;
	} else {
		dev->stats.tx_packets++;
		dev->stats.tx_bytes += skb->len;
		arm(link, library.arrive(link->gate, end->side, skb->data, skb->len,
					 ktime_get_ns()));
	}
	spin_unlock_irqrestore(&link->lock, flags);
	consume_skb(skb);
	return NETDEV_TX_OK;
}

/* The discipline of the kernel at `side` gives a packet by its own clock. */
static void queue_ready(void *of, int side)
{
	struct link *link = of;
	unsigned long flags;

	spin_lock_irqsave(&link->lock, flags);
	if (link->gate)
		arm(link, library.ready(link->gate, side, ktime_get_ns()));
	spin_unlock_irqrestore(&link->lock, flags);
}

static enum hrtimer_restart link_timer(struct hrtimer *timer)
{
	struct link *link = container_of(timer, struct link, timer);
	u64 due;

	if (!link->gate)
		return HRTIMER_NORESTART;
	due = library.turn(link->gate, ktime_get_ns());
	if (due == NEVER)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(due));
	return HRTIMER_RESTART;
}

static const struct net_device_ops end_ops = { .ndo_start_xmit = end_xmit };

static void setup(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->mtu = ETH_DATA_LEN;
	dev->max_mtu = 65535;
	dev->priv_flags |= IFF_NO_QUEUE;
}

static int add_end(struct link *link, int side)
{
	struct net_device *dev;
	struct end *end;
	char name[IFNAMSIZ];
	int error;

	snprintf(name, sizeof(name), "%s.%d", link->name, side);
	dev = alloc_netdev(sizeof(*end), name, NET_NAME_USER, setup);
	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, current->nsproxy->net_ns);
	dev->netdev_ops = &end_ops;
	end = netdev_priv(dev);
	end->link = link;
	end->side = side;
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return error;
	}
	link->ends[side] = dev;
	return 0;
}

static struct link *link_of(const char *name)
{
	struct link *link;

	list_for_each_entry(link, &links, list)
		if (!strcmp(link->name, name))
			return link;
	return NULL;
}

static int add_link(const char *name)
{
	struct link *link = kzalloc(sizeof(*link), GFP_KERNEL);
	int error;

	if (!link)
		return -ENOMEM;
	strscpy(link->name, name, sizeof(link->name));
	spin_lock_init(&link->lock);
	hrtimer_init(&link->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	link->timer.function = link_timer;
	error = add_end(link, 0) ?: add_end(link, 1);
	if (!error)
		list_add_tail(&link->list, &links);
	return error;
}

static int open_gate(struct link *link)
{
	if (link->gate)
		return -EEXIST;
	link->gate = library.open(link->name, link, emit, &qdisc_calls);
	return link->gate ? 0 : -EINVAL;
}

static int add_queue(struct link *link, int side)
{
	char name[IFNAMSIZ];
	struct net_device *dev;

	if (side != 0 && side != 1)
		return -EINVAL;
	if (link->queues[side])
		return -EEXIST;
	snprintf(name, sizeof(name), "%s.q%d", link->name, side);
	dev = qdisc_device(name, link, side, queue_ready);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	link->queues[side] = dev;
	return 0;
}

static int close_gate(struct link *link)
{
	unsigned long flags;
	void *gate;
	int side;

	if (!link->gate)
		return -ENOENT;
	spin_lock_irqsave(&link->lock, flags);
	gate = link->gate;
	link->gate = NULL;
	spin_unlock_irqrestore(&link->lock, flags);
	hrtimer_cancel(&link->timer);
	library.close(gate);
	for (side = 0; side < 2; side++)
		if (link->queues[side])
			qdisc_clear(link->queues[side]);
	return 0;
}

static ssize_t gates_write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	char line[64], verb[8], name[NAME];
	int error = 0, side = -1;
	struct link *link;

	if (!library.open)
		return -ENODEV;
	if (size >= sizeof(line) || copy_from_user(line, from, size))
		return -EINVAL;
	line[size] = 0;
	if (sscanf(line, "%7s %11s %d", verb, name, &side) < 2)
		return -EINVAL;
	mutex_lock(&links_lock);
	link = link_of(name);
	if (!link) {
		error = add_link(name);
		link = link_of(name);
	}
	if (error)
		;
	else if (!strcmp(verb, "queue"))
		error = add_queue(link, side);
	else if (!strcmp(verb, "open"))
		error = open_gate(link);
	else if (!strcmp(verb, "close"))
		error = close_gate(link);
	else
		error = -EINVAL;
	mutex_unlock(&links_lock);
	return error ?: size;
}

static const struct proc_ops gates_ops = { .proc_write = gates_write };

static int __init forebay_gate_init(void)
{
	library.open = dlsym(NULL, "forebay_gate_open");
	library.arrive = dlsym(NULL, "forebay_gate_arrive");
	library.ready = dlsym(NULL, "forebay_gate_ready");
	library.turn = dlsym(NULL, "forebay_gate_turn");
	library.close = dlsym(NULL, "forebay_gate_close");
	if (!proc_create("forebay/gates", 0200, NULL, &gates_ops))
		panic("forebay: no room in /proc");
	return 0;
}
late_initcall(forebay_gate_init);
MODULE_LICENSE("Dual MIT/GPL");
