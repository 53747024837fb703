/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel's queue disciplines, asked by a gate: forebay_qdisc.c. */
#ifndef FOREBAY_QDISC_H
#define FOREBAY_QDISC_H

#include <linux/netdevice.h>

/* Why a packet was lost, as crates/gate/src/io/qdisc.rs reads it. */
enum loss { LOSS_AQM, LOSS_OVERFLOW, LOSS_REDUNDANT_ACK };

/* What a queue says of itself. */
enum state { STATE_IDLE, STATE_READY, STATE_WAITS };

/* What a gate may call. */
struct qdisc_calls {
	/* The queue of the device `name`, whose losses `owner` is told; NULL if there is none. */
	void *(*attach)(const char *name, void *owner, void (*lost)(void *owner, u32 id, int why));
	/* From now on `owner` is told nothing. */
	void (*detach)(void *queue, const void *owner);
	/* A packet arrives; its DS field afterwards, or -1 if it is lost. */
	int (*enqueue)(void *queue, u32 id, const u8 *packet, size_t size);
	/* Whether the queue gives a packet, and which. */
	int (*dequeue)(void *queue, u32 *id, u8 *tos);
	int (*state)(const void *queue);
};

extern const struct qdisc_calls qdisc_calls;

/* A device that has a queue discipline and sends nothing; `ready` is called when the discipline
 * gives a packet by its own clock. */
struct net_device *qdisc_device(const char *name, void *owner, int side,
				void (*ready)(void *owner, int side));

/* The gate has ended: what the queue holds is lost. */
void qdisc_clear(struct net_device *dev);

#endif
