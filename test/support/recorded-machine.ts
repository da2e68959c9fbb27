import type { MeasuredMachine, Space } from "../../lib/agent/metrics/measured-machine.ts";

/** What a machine with two processors said of itself, as the kernel writes it. */
const texts: Record<string, string> = {
  "/proc/stat":
    "cpu  1000 20 300 8000 100 0 30 50 0 0\ncpu0 500 10 150 4000 50 0 15 25 0 0\nintr 1 2 3\nctxt 99\nbtime 1893456000\nprocesses 4711\n",
  "/proc/loadavg": "0.52 0.58 0.59 2/613 4711\n",
  "/proc/uptime": "350735.47 234388.90\n",
  "/proc/meminfo":
    "MemTotal:        8000000 kB\nMemFree:          500000 kB\nMemAvailable:    3000000 kB\nSwapTotal:       2000000 kB\nSwapFree:        1500000 kB\nHugePages_Total:       0\n",
  "/proc/net/dev":
    "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo: 9999 1 0 0 0 0 0 0 9999 1 0 0 0 0 0 0\n  eth0: 1000000 900 2 0 0 0 0 0 500000 800 1 0 0 0 0 0\nveth1a: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n",
  "/proc/diskstats":
    "   8       0 sda 100 5 2000 30 200 6 4000 40 0 50 70 0 0 0 0 0 0\n   8       1 sda1 90 5 1900 30 190 6 3900 40 0 50 70 0 0 0 0 0 0\n   7       0 loop0 9 0 90 1 0 0 0 0 0 1 1\n   8      16 sdb 0 0 0 0 0 0 0 0 0 0 0\n",
  "/proc/self/mountinfo": [
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "23 22 0:21 / /proc rw - proc proc rw",
    "24 22 8:17 / /srv/my\\040data rw shared:2 master:1 - xfs /dev/sdb1 rw",
    "25 22 8:17 /sub /mnt/bind rw - xfs /dev/sdb1 rw",
    "26 22 0:50 / /mnt/nfs rw - nfs4 server:/x rw",
    "27 22 0:22 / /run rw - tmpfs tmpfs rw",
    "",
  ].join("\n"),
};

/** A machine of recorded texts, of which a test changes what it is about. */
export class RecordedMachine implements MeasuredMachine {
  readonly kind: "proc" | "other" = "proc";
  readonly texts = new Map<string, string>(Object.entries(texts));
  readonly spaces = new Map<string, Space>([
    ["/", { totalBytes: 1_000, usedBytes: 400 }],
    ["/srv/my data", { totalBytes: 5_000, usedBytes: 50 }],
  ]);
  cpuMicros = 0;
  memoryBytes = 80_000_000;

  read(path: string): string | null {
    return this.texts.get(path) ?? null;
  }

  list(path: string): readonly string[] | null {
    if (path === "/proc") return ["1", "42", "4711", "cpuinfo", "self"];
    return path === "/sys/block" ? ["loop0", "sda", "sdb"] : null;
  }

  async space(path: string): Promise<Space | null> {
    return this.spaces.get(path) ?? null;
  }

  own(): { cpuMicros: number; memoryBytes: number } {
    return { cpuMicros: this.cpuMicros, memoryBytes: this.memoryBytes };
  }

  /** Writes a text in place of a part of one. */
  change(path: string, before: string, after: string): void {
    const text = this.texts.get(path) ?? "";
    if (!text.includes(before)) throw new Error(`${path} has no ${before}`);
    this.texts.set(path, text.replace(before, after));
  }
}
