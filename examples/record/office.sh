#!/usr/bin/env bash
# Records office.pcap.gz before it is packed: three busy hosts of a small office behind one access link.
#
#   sudo ./office.sh OUTPUT.pcap [SECONDS]
#
# Real programs run on real Linux network stacks, in network namespaces. No packet leaves this
# machine. Needs: iproute2, ethtool, tcpdump, python3 (3.11 or later), curl, dnsmasq, dig,
# openssh, rsync, ffmpeg, ping.
#
#   pc, laptop, phone --- bridge of the router === 10 Mbit/s up, 20 down, 20 ms each way === servers
#
# The capture is taken on the router's bridge: before the uplink's queue, and after the downlink's.
set -euo pipefail

output=$(realpath "$1")
seconds=${2:-40}
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
hosts=(pc laptop phone)
background=()

at() { ip netns exec "rec-$1" "${@:2}"; }

# Starts a program that serves until the end.
serve() { "$@" </dev/null >>"$work/log" 2>&1 & background+=($!); }

cleanup() {
    local status=$?
    if ((status)); then cat "$work/log" >&2; fi
    for pid in "${background[@]}"; do kill "$pid" 2>>"$work/log" || true; done
    # Whatever those left behind lives in these namespaces alone.
    for name in "${hosts[@]}" router servers; do
        for pid in $(ip netns pids "rec-$name" 2>>"$work/log"); do
            kill "$pid" 2>>"$work/log" || true
        done
        ip netns del "rec-$name" 2>>"$work/log" || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

# --- the network ---------------------------------------------------------------------------------

for name in "${hosts[@]}" router servers; do
    ip netns add "rec-$name"
    at "$name" ip link set lo up
done
at router sysctl -qw net.ipv4.ip_forward=1
at router ip link add br0 type bridge
at router ip addr add 10.88.1.1/24 dev br0
at router ip link set br0 up
number=10
for name in "${hosts[@]}"; do
    ip link add "rec-$name" type veth peer name "rec-$name-b"
    ip link set "rec-$name" netns "rec-$name"
    ip link set "rec-$name-b" netns rec-router
    # Packets as they are on a wire, not as the stack would hand them to a card.
    at "$name" ethtool -K "rec-$name" tso off gso off gro off >>"$work/log" 2>&1
    at router ethtool -K "rec-$name-b" tso off gso off gro off >>"$work/log" 2>&1
    at router ip link set "rec-$name-b" master br0 up
    at "$name" ip addr add "10.88.1.$number/24" dev "rec-$name"
    at "$name" ip link set "rec-$name" up
    at "$name" ip route add default via 10.88.1.1 congctl cubic
    number=$((number + 1))
done

coproc LINK { exec python3 "$here/delay_link.py" rec-wan0 rec-wan1 20; }
background+=("$LINK_PID")
read -r _ <&"${LINK[0]}"
ip link set rec-wan0 netns rec-router
ip link set rec-wan1 netns rec-servers
at router ip addr add 10.88.2.1/30 dev rec-wan0
at router ip link set rec-wan0 up
at servers ip addr add 10.88.2.2/30 dev rec-wan1
at servers ip link set rec-wan1 up
at servers ip route add default via 10.88.2.1 congctl cubic
at router tc qdisc add dev rec-wan0 root tbf rate 10mbit burst 3000 limit 60000
at servers tc qdisc add dev rec-wan1 root tbf rate 20mbit burst 3000 limit 120000

# --- the servers ---------------------------------------------------------------------------------

mkdir "$work/www" "$work/inbox" "$work/outbox"
objects=(18000 3200 950 41000 7600 12800 2100 65000 530 9400 24000 150000 4700)
for index in "${!objects[@]}"; do
    head -c "${objects[$index]}" /dev/urandom >"$work/www/object$index"
done
for index in 1 2 3; do head -c 420000 /dev/urandom >"$work/outbox/photo$index"; done
for index in {1..30}; do head -c $((index * 1500)) /dev/urandom >"$work/outbox/note$index"; done
serve at servers python3 -m http.server --protocol HTTP/1.1 --directory "$work/www" 80
serve at servers dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts \
    --pid-file="$work/dnsmasq.pid" --user=root --address=/example/10.88.2.2 --port=53
ssh-keygen -q -t ed25519 -N '' -f "$work/host"
ssh-keygen -q -t ed25519 -N '' -f "$work/user"
cp "$work/user.pub" "$work/authorized"
mkdir -p /run/sshd
# OpenSSH's own marks, which some distributions change: AF21 for interactive sessions, else CS1.
cat >"$work/ssh_config" <<END
IPQoS af21 cs1
IdentityFile $work/user
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
END
serve at servers /usr/sbin/sshd -D -e -f /dev/null -p 22 -h "$work/host" -o PidFile=none \
    -o AuthorizedKeysFile="$work/authorized" -o StrictModes=no -o PermitRootLogin=yes \
    -o Subsystem="sftp internal-sftp" \
    -o IPQoS="af21 cs1"
# Whoever is called listens: to the media, and to their control on the port above.
listen='
import selectors, socket, sys
selector = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("", port))
    selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        key.fileobj.recv(2048)
'
serve at servers python3 -c "$listen" 40000 40001 40010 40011
serve at phone python3 -c "$listen" 40000 40001
sleep 2

# --- the people ----------------------------------------------------------------------------------

# A person who reads: looks a name up, loads a page of a few objects, reads.
browse() {
    local host=$1 urls=()
    for index in "${!objects[@]}"; do urls+=(-o /dev/null "http://10.88.2.2/object$index"); done
    while true; do
        at "$host" dig +short +tries=1 "www$RANDOM.example" @10.88.2.2
        at "$host" curl -s --parallel --parallel-max 6 "${urls[@]}"
        sleep "$((2 + RANDOM % 5)).$((RANDOM % 10))"
    done
}

# A person at a remote terminal, who types.
terminal() {
    local host=$1 letter line
    while true; do
        for line in 'ls -l /etc' 'df' 'uptime' 'ls /usr/bin | head -50'; do
            for ((letter = 0; letter < ${#line}; letter++)); do
                printf '%s' "${line:letter:1}"
                sleep "0.$((1 + RANDOM % 3))"
            done
            printf '\n'
            sleep 2
        done
    done | at "$host" ssh -F "$work/ssh_config" -tt root@10.88.2.2
}

# A call: G.711 in 20 ms packets, marked EF, both ways.
call() {
    at "$1" ffmpeg -nostdin -loglevel error -re -f lavfi \
        -i sine=440:sample_rate=8000:samples_per_frame=160 \
        -c:a pcm_mulaw -f rtp "rtp://$2?dscp=46&pkt_size=172"
}

# A camera: H.264 at about 400 kbit/s, marked AF41.
camera() {
    at "$1" ffmpeg -nostdin -loglevel error -re -f lavfi -i testsrc2=size=480x270:rate=15 \
        -threads 1 -c:v libx264 -preset ultrafast -tune zerolatency -b:v 400k -maxrate 400k \
        -bufsize 200k -g 60 -f rtp "rtp://$2?dscp=34&pkt_size=1200"
}

# Files that go up: photos one by one, then a directory.
upload() {
    local host=$1 index
    sleep 6
    for index in 1 2 3; do
        at "$host" scp -q -F "$work/ssh_config" "$work/outbox/photo$index" \
            "root@10.88.2.2:$work/inbox/"
        sleep 4
    done
    at "$host" rsync -a --ignore-times -e "ssh -F $work/ssh_config" "$work/outbox/" \
        "root@10.88.2.2:$work/inbox/"
}

at router tcpdump -i br0 -s 42 -Z root -U -w "$output" ip 2>"$work/tcpdump" &
recorder=$!
sleep 1
serve browse pc
serve browse laptop
serve browse phone
serve terminal laptop
serve call phone 10.88.2.2:40000
serve call servers 10.88.1.12:40000
serve camera pc 10.88.2.2:40010
serve upload laptop
serve at pc ping -i 1 10.88.2.2
sleep "$seconds"
kill "$recorder"
wait "$recorder" || true
cat "$work/tcpdump" >&2
