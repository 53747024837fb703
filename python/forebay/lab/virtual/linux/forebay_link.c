// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The links of a dumbbell with exact times, built into the referee's kernel.
 *
 *   sender --access--> ingress | router | egress --bottleneck, access--> receiver
 *      ^--------------------access, reverse, access-----------------------'
 *
 * `egress` has a queue discipline and holds one packet, the one in transmission; its discipline is
 * asked for the next when that has left. Access links serialise each flow by itself. A policer may
 * stand in front of the queue, the rate may change, and the wire behind it may lose packets.
 * Whatever passes is written to /proc/forebay/records; arrivals written to /proc/forebay/arrivals
 * are replayed into `ingress`. Times are in ns, rates in bit/s. A flow is known by its port at the
 * sender.
 */
#include <linux/hrtimer.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#define FLOWS 4096
#define FIRST_PORT 10000
#define REPLAYED 9 /* UDP's discard port */
#define STEPS 16

static ulong epoch, trace, rate, delay, overhead, access_rate, access_delay, access_overhead;
static ulong reverse_rate, reverse_delay, reverse_overhead, loss, police_rate, police_burst;
static ulong step_times[STEPS], step_rates[STEPS];
static uint steps;
module_param(epoch, ulong, 0444); /* time 0 of the scenario, by CLOCK_MONOTONIC */
module_param(trace, ulong, 0444); /* until when senders and receivers are recorded */
module_param(rate, ulong, 0444);
module_param(delay, ulong, 0444);
module_param(overhead, ulong, 0444);
module_param(access_rate, ulong, 0444);
module_param(access_delay, ulong, 0444);
module_param(access_overhead, ulong, 0444);
module_param(reverse_rate, ulong, 0444);
module_param(reverse_delay, ulong, 0444);
module_param(reverse_overhead, ulong, 0444);
module_param(loss, ulong, 0444); /* of the congested link's packets, in parts of 2^32 */
module_param(police_rate, ulong, 0444);
module_param(police_burst, ulong, 0444); /* bytes */
module_param_array(step_times, ulong, &steps, 0444); /* of the scenario, at which `rate` changes */
module_param_array(step_rates, ulong, NULL, 0444);

enum point { SENDER_OUT, SENDER_IN, QUEUE_IN, QUEUE_OUT, RECEIVER_IN, RECEIVER_OUT };

/* As referee.py reads it; no padding. */
struct record {
	u64 time;
	u64 area; /* integral of the queue's length until now, packets times ns */
	u32 id; /* number of the arrival at the queue */
	u32 seq, ack, window;
	u32 sack[8];
	u16 flow, size, payload;
	u8 point, flags, tos, blocks, state, unused;
	u32 length; /* of the queue, since the event before */
	u32 remaining; /* its length after a departure */
	u32 cwnd, ssthresh, srtt, rto;
	u32 out, sacked, lost, retrans, reordering;
};

struct arrival {
	u64 time;
	u16 flow, size;
	u8 tos, unused[2];
	u8 header; /* length of its TCP header; 0: it is UDP */
	u8 tcp[64]; /* the header, but for the ports */
};

/* ---- the record ---- */

#define CHUNK 65536

struct chunk {
	struct list_head list;
	u32 filled, taken;
	u8 data[];
};

static LIST_HEAD(chunks);
static DEFINE_SPINLOCK(chunks_lock);
static struct sock *senders[FLOWS];

static void append(const struct record *record)
{
	struct chunk *last;
	unsigned long flags;

	spin_lock_irqsave(&chunks_lock, flags);
	last = list_empty(&chunks) ? NULL : list_last_entry(&chunks, struct chunk, list);
	if (!last || last->filled + sizeof(*record) > CHUNK) {
		last = kmalloc(sizeof(*last) + CHUNK, GFP_ATOMIC);
		if (!last)
			panic("forebay: no memory for records; give the guest more");
		last->filled = last->taken = 0;
		list_add_tail(&last->list, &chunks);
	}
	memcpy(last->data + last->filled, record, sizeof(*record));
	last->filled += sizeof(*record);
	spin_unlock_irqrestore(&chunks_lock, flags);
}

/* What has been recorded so far; never waits. */
static ssize_t records_read(struct file *file, char __user *to, size_t size, loff_t *offset)
{
	ssize_t done = 0;
	struct chunk *chunk;
	unsigned long flags;

	for (;;) {
		u32 from, count;

		spin_lock_irqsave(&chunks_lock, flags);
		chunk = list_first_entry_or_null(&chunks, struct chunk, list);
		if (chunk && chunk->taken == chunk->filled && !list_is_last(&chunk->list, &chunks)) {
			list_del(&chunk->list);
			spin_unlock_irqrestore(&chunks_lock, flags);
			kfree(chunk);
			continue;
		}
		from = chunk ? chunk->taken : 0;
		count = chunk ? min_t(size_t, chunk->filled - from, size - done) : 0;
		spin_unlock_irqrestore(&chunks_lock, flags);
		if (!count)
			return done;
		if (copy_to_user(to + done, chunk->data + from, count))
			return -EFAULT;
		chunk->taken += count;
		done += count;
	}
}

static const struct proc_ops records_ops = { .proc_read = records_read };

static bool is_tcp(const struct sk_buff *skb)
{
	return ip_hdr(skb)->protocol == IPPROTO_TCP;
}

static const void *transport(const struct sk_buff *skb)
{
	return (const u8 *)ip_hdr(skb) + ip_hdrlen(skb);
}

/* TCP's and UDP's ports are at the same place. */
static u16 flow_of(const struct sk_buff *skb, bool back)
{
	const struct udphdr *header = transport(skb);
	u16 port = ntohs(back ? header->dest : header->source);

	return port < FIRST_PORT || port >= FIRST_PORT + FLOWS ? FLOWS - 1 : port - FIRST_PORT;
}

static void note_sack(struct record *record, const struct tcphdr *tcp)
{
	const u8 *at = (const u8 *)(tcp + 1), *end = (const u8 *)tcp + tcp->doff * 4;

	while (at < end && *at != TCPOPT_EOL) {
		if (*at == TCPOPT_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= end || at[1] < 2 || at + at[1] > end)
			return;
		if (*at == TCPOPT_SACK) {
			u32 i;

			record->blocks = min_t(u32, (at[1] - 2) / 8, 4);
			for (i = 0; i < 2 * record->blocks; i++)
				record->sack[i] = get_unaligned_be32(at + 2 + 4 * i);
		}
		at += at[1];
	}
}

static void note_tcp(struct record *record, const struct sk_buff *skb, bool back)
{
	const struct tcphdr *tcp = transport(skb);
	struct sock *sk = senders[record->flow];
	u8 scale = 0;

	record->seq = ntohl(tcp->seq);
	record->ack = ntohl(tcp->ack_seq);
	record->flags = ((const u8 *)tcp)[13];
	record->payload = record->size - ip_hdrlen(skb) - tcp->doff * 4;
	note_sack(record, tcp);
	if (sk) {
		const struct tcp_sock *tp = tcp_sk(sk);
		const struct inet_connection_sock *icsk = inet_csk(sk);

		if (!tcp->syn)
			scale = back ? tp->rx_opt.snd_wscale : tp->rx_opt.rcv_wscale;
		record->cwnd = tp->snd_cwnd;
		record->ssthresh = tp->snd_ssthresh;
		record->srtt = tp->srtt_us >> 3;
		record->rto = jiffies_to_usecs(icsk->icsk_rto);
		record->out = tp->packets_out;
		record->sacked = tp->sacked_out;
		record->lost = tp->lost_out;
		record->retrans = tp->retrans_out;
		record->reordering = tp->reordering;
		record->state = icsk->icsk_ca_state;
	}
	record->window = (u32)ntohs(tcp->window) << scale;
}

static struct record note(const struct sk_buff *skb, enum point point)
{
	bool back = point == SENDER_IN || point == RECEIVER_OUT;
	struct record record = {
		.time = ktime_get_ns() - epoch,
		.point = point,
		.flow = flow_of(skb, back),
		.size = skb->len,
		.tos = ip_hdr(skb)->tos,
	};

	if (is_tcp(skb))
		note_tcp(&record, skb, back);
	return record;
}

/* What is seen at the hosts, while that is asked for. */
static void note_host(const struct sk_buff *skb, enum point point)
{
	if (ktime_get_ns() < epoch + trace) {
		struct record record = note(skb, point);

		append(&record);
	}
}

/* ---- links ---- */

static struct net_device *sender, *ingress, *egress, *receiver;

static void deliver(struct sk_buff *skb, struct net_device *dev)
{
	skb->dev = dev;
	skb->protocol = htons(ETH_P_IP);
	skb->pkt_type = PACKET_HOST;
	netif_rx(skb);
}

/* A transmitter, or one for each flow, that never drops, and a wire. */
struct hop {
	u64 rate, delay, overhead;
	bool per_flow, back;
	struct clock {
		u64 free; /* when the transmitter has sent what it has */
		u64 rest; /* of that instant, below a ns, in parts of `rate` */
	} *clocks;
	struct sk_buff_head wire; /* in order of arrival at the other end */
	struct hrtimer timer;
	void (*arrive)(struct sk_buff *skb);
};

#define ARRIVAL(skb) (*(u64 *)(skb)->cb)

static u64 transmission(u64 size, u64 rate, u64 *rest)
{
	u64 parts = size * 8 * NSEC_PER_SEC + *rest;

	*rest = parts % rate;
	return parts / rate;
}

static void hop_send(struct hop *hop, struct sk_buff *skb)
{
	struct sk_buff *after;
	unsigned long flags;
	u64 now = ktime_get_ns();

	if (hop->rate) {
		struct clock *clock = &hop->clocks[hop->per_flow ? flow_of(skb, hop->back) : 0];

		if (clock->free < now) {
			clock->free = now;
			clock->rest = 0;
		}
		clock->free += transmission(skb->len + hop->overhead, hop->rate, &clock->rest);
		now = clock->free;
	}
	ARRIVAL(skb) = now + hop->delay;
	spin_lock_irqsave(&hop->wire.lock, flags);
	skb_queue_reverse_walk(&hop->wire, after)
		if (ARRIVAL(after) <= ARRIVAL(skb))
			break;
	__skb_queue_after(&hop->wire, after, skb);
	if (skb_peek(&hop->wire) == skb)
		hrtimer_start(&hop->timer, ns_to_ktime(ARRIVAL(skb)), HRTIMER_MODE_ABS_HARD);
	spin_unlock_irqrestore(&hop->wire.lock, flags);
}

static enum hrtimer_restart hop_timer(struct hrtimer *timer)
{
	struct hop *hop = container_of(timer, struct hop, timer);
	struct sk_buff *skb;

	while ((skb = skb_peek(&hop->wire))) {
		if (ARRIVAL(skb) > ktime_get_ns()) {
			hrtimer_set_expires(timer, ns_to_ktime(ARRIVAL(skb)));
			return HRTIMER_RESTART;
		}
		__skb_unlink(skb, &hop->wire);
		hop->arrive(skb);
	}
	return HRTIMER_NORESTART;
}

static struct hop access_up, bottleneck_wire, access_down, access_back, reverse, access_home;

/* ---- the queue ---- */

static struct {
	u64 area, since;
	u32 length; /* since the event before the last */
	u32 arrivals;
	u64 rest;
	struct sk_buff *sending;
	struct hrtimer done;
} queue;

static u32 queue_length(void)
{
	return netdev_get_tx_queue(egress, 0)->qdisc->q.qlen;
}

/* Before anything changes: the queue has been as long as now since the last call. */
static void queue_advance(void)
{
	u64 now = ktime_get_ns();

	queue.length = queue_length();
	queue.area += (now - queue.since) * queue.length;
	queue.since = now;
}

/* A token bucket, full at first. */
static bool policed(u32 size)
{
	static u64 since, tokens; /* bits, times ns a s */
	u64 now = ktime_get_ns(), most = police_burst * 8 * NSEC_PER_SEC;
	u64 cost = (u64)size * 8 * NSEC_PER_SEC;

	if (!police_rate)
		return false;
	tokens += min(now - since, 10 * (u64)NSEC_PER_SEC) * police_rate;
	tokens = since ? min(most, tokens) : most;
	since = now;
	if (tokens < cost)
		return true;
	tokens -= cost;
	return false;
}

static void queue_arrive(struct sk_buff *skb)
{
	struct record record = note(skb, QUEUE_IN);

	queue_advance();
	record.id = skb->mark = ++queue.arrivals;
	record.area = queue.area;
	record.length = queue.length;
	append(&record);
	skb->tc_index = record.tos >> 2; /* GRED's level, as dsmark would give it */
	if (policed(record.size))
		kfree_skb(skb);
	else
		deliver(skb, ingress);
}

/* When the congested link has sent so many bytes, which begin now. */
static u64 sent_at(u64 now, u64 size)
{
	static uint step;

	while (step < steps) {
		u64 next = epoch + step_times[step], left = next - min(now, next);
		u64 parts = size * 8 * NSEC_PER_SEC + queue.rest;

		if (left * rate >= parts)
			break;
		/* `rest` holds what is not sent before the step. */
		queue.rest = parts - left * rate;
		now += left;
		size = 0;
		rate = step_rates[step++];
	}
	return now + transmission(size, rate, &queue.rest);
}

static netdev_tx_t egress_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct record record = note(skb, QUEUE_OUT);
	u64 now = ktime_get_ns();

	record.id = skb->mark;
	record.area = queue.area;
	record.length = queue.length;
	record.remaining = queue_length();
	append(&record);
	netif_stop_queue(dev);
	queue.sending = skb;
	if (hrtimer_get_expires_ns(&queue.done) != now)
		queue.rest = 0; /* it was idle */
	now = sent_at(now, skb->len + overhead);
	hrtimer_start(&queue.done, ns_to_ktime(now), HRTIMER_MODE_ABS_HARD);
	return NETDEV_TX_OK;
}

static enum hrtimer_restart queue_done(struct hrtimer *timer)
{
	struct sk_buff *skb = queue.sending;

	queue_advance();
	queue.sending = NULL;
	skb_scrub_packet(skb, true);
	if (loss && get_random_u32() < loss)
		kfree_skb(skb);
	else
		hop_send(&bottleneck_wire, skb);
	netif_wake_queue(egress);
	return HRTIMER_NORESTART;
}

static struct {
	struct arrival *list;
	size_t count, next;
	struct hrtimer timer;
} replay;

/* ---- the hosts' ends ---- */

static netdev_tx_t sender_xmit(struct sk_buff *skb, struct net_device *dev)
{
	u16 flow = flow_of(skb, false);

	if (!senders[flow] && skb->sk && sk_fullsock(skb->sk) && is_tcp(skb)) {
		sock_hold(skb->sk);
		senders[flow] = skb->sk;
	}
	note_host(skb, SENDER_OUT);
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	hop_send(&access_up, skb);
	return NETDEV_TX_OK;
}

static netdev_tx_t receiver_xmit(struct sk_buff *skb, struct net_device *dev)
{
	note_host(skb, RECEIVER_OUT);
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	hop_send(&access_back, skb);
	return NETDEV_TX_OK;
}

static netdev_tx_t ingress_xmit(struct sk_buff *skb, struct net_device *dev)
{
	kfree_skb(skb); /* acknowledgments go another way */
	return NETDEV_TX_OK;
}

static void receiver_arrive(struct sk_buff *skb)
{
	note_host(skb, RECEIVER_IN);
	if (is_tcp(skb) && !replay.list)
		deliver(skb, receiver);
	else
		kfree_skb(skb);
}

static void sender_arrive(struct sk_buff *skb)
{
	note_host(skb, SENDER_IN);
	deliver(skb, sender);
}

static void to_access_down(struct sk_buff *skb)
{
	hop_send(&access_down, skb);
}

static void to_reverse(struct sk_buff *skb)
{
	hop_send(&reverse, skb);
}

static void to_access_home(struct sk_buff *skb)
{
	hop_send(&access_home, skb);
}

/* ---- replay ---- */

static struct sk_buff *replayed(const struct arrival *arrival)
{
	struct sk_buff *skb = alloc_skb(arrival->size + LL_MAX_HEADER, GFP_ATOMIC);
	struct iphdr *ip;
	struct udphdr *udp;

	if (!skb)
		panic("forebay: no memory for a replayed packet");
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, arrival->size);
	udp = (struct udphdr *)(ip + 1);
	*ip = (struct iphdr){
		.version = 4, .ihl = 5, .tos = arrival->tos, .tot_len = htons(arrival->size),
		.ttl = 64, .protocol = arrival->header ? IPPROTO_TCP : IPPROTO_UDP,
		.frag_off = htons(IP_DF),
		.saddr = htonl(0x0a000001), .daddr = htonl(0x0a000002),
	};
	ip_send_check(ip);
	if (arrival->header)
		memcpy(udp, arrival->tcp, arrival->header);
	else
		udp->len = htons(arrival->size - sizeof(*ip));
	/* TCP's ports are at the same place. */
	udp->source = htons(FIRST_PORT + arrival->flow);
	udp->dest = htons(REPLAYED);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	return skb;
}

static enum hrtimer_restart replay_timer(struct hrtimer *timer)
{
	while (replay.next < replay.count) {
		const struct arrival *arrival = &replay.list[replay.next];

		if (epoch + arrival->time > ktime_get_ns()) {
			hrtimer_set_expires(timer, ns_to_ktime(epoch + arrival->time));
			return HRTIMER_RESTART;
		}
		replay.next++;
		queue_arrive(replayed(arrival));
	}
	return HRTIMER_NORESTART;
}

/* One write, before time 0, of all arrivals in order. */
static ssize_t arrivals_write(struct file *file, const char __user *from, size_t size,
			      loff_t *offset)
{
	if (replay.list || !size || size % sizeof(struct arrival))
		return -EINVAL;
	replay.list = vmalloc(size);
	if (!replay.list)
		return -ENOMEM;
	if (copy_from_user(replay.list, from, size))
		return -EFAULT;
	replay.count = size / sizeof(struct arrival);
	hrtimer_start(&replay.timer, ns_to_ktime(epoch + replay.list[0].time),
		      HRTIMER_MODE_ABS_HARD);
	return size;
}

static const struct proc_ops arrivals_ops = { .proc_write = arrivals_write };

/* ---- devices ---- */

static const struct net_device_ops sender_ops = { .ndo_start_xmit = sender_xmit };
static const struct net_device_ops ingress_ops = { .ndo_start_xmit = ingress_xmit };
static const struct net_device_ops egress_ops = { .ndo_start_xmit = egress_xmit };
static const struct net_device_ops receiver_ops = { .ndo_start_xmit = receiver_xmit };

static void setup(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->mtu = ETH_DATA_LEN;
	dev->max_mtu = 65535;
	dev->tx_queue_len = 1000; /* room of a default queue */
	/* TCP sends bursts of segments as one; they are cut before they reach the device. */
	dev->features = dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM;
}

static struct net_device *device(const char *name, const struct net_device_ops *ops, bool queues)
{
	struct net_device *dev = alloc_netdev(0, name, NET_NAME_USER, setup);

	if (!dev)
		panic("forebay: no memory for %s", name);
	dev->netdev_ops = ops;
	if (!queues)
		dev->priv_flags |= IFF_NO_QUEUE;
	if (register_netdev(dev))
		panic("forebay: cannot register %s", name);
	return dev;
}

static void hop_init(struct hop *hop, u64 rate, u64 delay, u64 overhead, bool per_flow, bool back,
		     void (*arrive)(struct sk_buff *))
{
	hop->rate = rate;
	hop->delay = delay;
	hop->overhead = overhead;
	hop->per_flow = per_flow;
	hop->back = back;
	hop->arrive = arrive;
	hop->clocks = kcalloc(per_flow ? FLOWS : 1, sizeof(*hop->clocks), GFP_KERNEL);
	if (!hop->clocks)
		panic("forebay: no memory for links");
	skb_queue_head_init(&hop->wire);
	hrtimer_init(&hop->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	hop->timer.function = hop_timer;
}

static int __init forebay_init(void)
{
	struct proc_dir_entry *folder = proc_mkdir("forebay", NULL);

	BUILD_BUG_ON(sizeof(struct record) != 120);
	BUILD_BUG_ON(sizeof(struct arrival) != 80);
	if (!rate)
		return 0;
	hop_init(&access_up, access_rate, access_delay, access_overhead, true, false, queue_arrive);
	hop_init(&bottleneck_wire, 0, delay, 0, false, false, to_access_down);
	hop_init(&access_down, access_rate, access_delay, access_overhead, true, false,
		 receiver_arrive);
	hop_init(&access_back, access_rate, access_delay, access_overhead, true, true, to_reverse);
	hop_init(&reverse, reverse_rate, reverse_delay, reverse_overhead, false, true,
		 to_access_home);
	hop_init(&access_home, access_rate, access_delay, access_overhead, true, true,
		 sender_arrive);
	hrtimer_init(&queue.done, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	queue.done.function = queue_done;
	hrtimer_init(&replay.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	replay.timer.function = replay_timer;
	sender = device("sender", &sender_ops, false);
	ingress = device("ingress", &ingress_ops, false);
	egress = device("egress", &egress_ops, true);
	receiver = device("receiver", &receiver_ops, false);
	if (!folder || !proc_create("records", 0400, folder, &records_ops) ||
	    !proc_create("arrivals", 0200, folder, &arrivals_ops))
		panic("forebay: no room in /proc");
	return 0;
}
late_initcall(forebay_init);
MODULE_LICENSE("Dual MIT/GPL");
