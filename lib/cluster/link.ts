/** What joins the processes of a cluster underneath: it brings frames, and may lose them. */
import type { ClusterState } from "./cluster.ts";
import type { ClusterFrame } from "./frames.ts";

/** Brings frames from process to process, those of one process to another in the order in which they were sent. */
export interface ClusterLink {
  /** Joins the others under a name. */
  start(name: string, ends: LinkEnds): Promise<void>;
  /** Leaves the others. */
  stop(): Promise<void>;
  /** Brings a frame, or loses it; never in the same turn. Never throws. */
  send(process: string, frame: ClusterFrame): void;
  /** Tells all others of a position, or some of them. Never throws. */
  ring(position: number): void;
}

/** What a link tells. */
export interface LinkEnds {
  /** A frame came. */
  receive(process: string, frame: ClusterFrame): void;
  /** Another process rang. */
  rang(process: string, position: number): void;
  /** A process is known to be gone, or nobody is there under its name. */
  gone(process: string): void;
  /** Whether the others are reached changed. */
  changed(state: ClusterState): void;
}
