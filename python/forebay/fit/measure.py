"""Commands of a measurement that decides, with tools that people have."""

from __future__ import annotations

COMMANDS = """\
# On the computer whose uplink is asked for, with nothing else on the link. SERVER runs iperf3 -s.
# 5 s of pings alone tell the round trip, 25 s of load the rest.
# sudo is for tcpdump alone; IFACE is the interface, as `ip route get SERVER` names it.

sudo true
sudo timeout 34 tcpdump -i IFACE -s 120 -w link.pcap host SERVER &
sleep 1
LC_ALL=C ping -D -i 0.05 -w 31 SERVER > ping.txt &
sleep 5
iperf3 -c SERVER -t 25 -P 4 --json > iperf3.json
wait

forebay fit link.pcap

# For the downlink, record in the same way and add -R to iperf3.
# Without tcpdump, the reports tell less: the round trip, and what the rate is at least:
#     forebay fit ping.txt iperf3.json
# For slow links far away (round trips above 200 ms), load for 100 round trips: -t 60, and record
# and ping as much longer.
# Packets that the network card cuts or joins (TSO, GRO) are no harm: they are read as segments.
# What cannot be told from a first measurement, `forebay fit` names, with what would tell.
"""
