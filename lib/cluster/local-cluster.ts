import { FramedCluster } from "./framed-cluster.ts";
import type { ClusterFrame } from "./frames.ts";
import type { ClusterLink, LinkEnds } from "./link.ts";

/**
 * One process that is its own cluster: the default of an orchestrator. It may ask itself and open pipes to itself; bytes go through these
 * without being copied. Nobody hears it ring.
 */
export class LocalCluster extends FramedCluster {
  constructor() {
    super(new LocalLink(), { isLossy: false });
  }
}

/** Brings what a process says to itself. */
class LocalLink implements ClusterLink {
  #self: { name: string; ends: LinkEnds } | null = null;

  async start(name: string, ends: LinkEnds): Promise<void> {
    this.#self = { name, ends };
  }

  async stop(): Promise<void> {
    this.#self = null;
  }

  send(process: string, frame: ClusterFrame): void {
    const self = this.#self;
    if (self === null) return;
    queueMicrotask(() => {
      if (process === self.name) self.ends.receive(self.name, frame);
      else self.ends.gone(process);
    });
  }

  ring(): void {}
}
