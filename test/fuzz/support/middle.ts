/** A man in the middle of agents and their orchestrator: he reads frames, and changes, keeps, repeats, turns and makes up some. */
import type { FrameSocket, SocketHandlers } from "../../../lib/transport/socket.ts";

type Frame = Uint8Array | string;
type Direction = "up" | "down";

/** One connection that goes through him. */
interface Path {
  /** Gives a frame to a side as if the other had sent it. */
  give(direction: Direction, frame: Frame): void;
  /** Frames of earlier, by direction. */
  seen: Record<Direction, Frame[]>;
  /** A frame that is kept back until the next one has passed. */
  kept: Record<Direction, Frame | null>;
  cut(): void;
}

/** What he does to a frame. */
export type Trick = keyof typeof tricks;

const tricks = {
  drop: () => [],
  repeat: (frame: Frame) => [frame, frame],
  flip: (frame: Frame, random: () => number) => [flipped(frame, random)],
  cut: (frame: Frame, random: () => number) => [frame.slice(0, Math.floor(random() * frame.length))],
  lengthen: (frame: Frame) => [
    typeof frame === "string" ? `${frame} ` : Buffer.concat([frame, Buffer.of(0)]),
  ],
  empty: (frame: Frame) => [typeof frame === "string" ? "" : new Uint8Array()],
  otherForm: (frame: Frame) => [
    typeof frame === "string" ? Buffer.from(frame) : Buffer.from(frame).toString("latin1"),
  ],
  noise: (_: Frame, random: () => number) => [Buffer.from(Array.from({ length: 64 }, () => random() * 256))],
} satisfies Record<string, (frame: Frame, random: () => number) => Frame[]>;

export class ManInTheMiddle {
  readonly #random: () => number;
  readonly #paths = new Set<Path>();
  /** How often he does something to a frame, 0 to 1; 0 = he is gone. */
  share: number;
  /** How often he did what. */
  readonly counts: Record<string, number> = {};

  constructor(random: () => number, share: number) {
    this.#random = random;
    this.share = share;
  }

  /** A socket for the agent that goes through him to the orchestrator. */
  between(far: FrameSocket): FrameSocket {
    let handlers: SocketHandlers | null = null;
    const path: Path = {
      give: (direction, frame) => (direction === "up" ? far.send(frame) : handlers?.frame(frame)),
      seen: { up: [], down: [] },
      kept: { up: null, down: null },
      cut: () => far.destroy(),
    };
    this.#paths.add(path);
    const through = this.#pass.bind(this, path);
    return {
      remoteAddress: far.remoteAddress,
      tlsExporter: null,
      get bufferedBytes() {
        return far.bufferedBytes;
      },
      listen: (own) => {
        handlers = own;
        far.listen({
          frame: (frame) => through("down", frame),
          closed: (code, reason) => {
            this.#paths.delete(path);
            handlers = null;
            own.closed(code, reason);
          },
        });
      },
      send: (frame) => through("up", frame),
      pause: () => far.pause(),
      resume: () => far.resume(),
      probe: () => far.probe(),
      close: (code, reason) => far.close(code, reason),
      destroy: () => far.destroy(),
    };
  }

  #pass(path: Path, direction: Direction, frame: Frame): void {
    const late = path.kept[direction];
    path.kept[direction] = null;
    if (this.#random() >= this.share) path.give(direction, frame);
    else this.#trick(path, direction, frame);
    if (late !== null) path.give(direction, late);
    path.seen[direction].push(frame);
    if (path.seen[direction].length > 50) path.seen[direction].shift();
  }

  #trick(path: Path, direction: Direction, frame: Frame): void {
    const dice = Math.floor(this.#random() * 14);
    const names = Object.keys(tricks) as Trick[];
    const name = names[dice];
    if (name !== undefined) {
      this.#count(name);
      for (const each of tricks[name](frame, this.#random)) path.give(direction, each);
    } else if (dice === 8) {
      this.#count("swap");
      path.kept[direction] = frame;
    } else if (dice === 9) {
      this.#count("repeat an old one");
      path.give(direction, this.#oneOf(path.seen[direction]) ?? frame);
    } else if (dice === 10) {
      this.#count("turn back");
      path.give(direction === "up" ? "down" : "up", frame);
      path.give(direction, frame);
    } else if (dice === 11) {
      this.#count("give to another");
      (this.#oneOf([...this.#paths]) ?? path).give(direction, frame);
    } else if (dice === 12) {
      this.#count("give what another said");
      path.give(direction, this.#oneOf(this.#oneOf([...this.#paths])?.seen[direction] ?? []) ?? frame);
    } else {
      this.#count("end");
      path.cut();
    }
  }

  #count(trick: string): void {
    this.counts[trick] = (this.counts[trick] ?? 0) + 1;
  }

  #oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }
}

function flipped(frame: Frame, random: () => number): Frame {
  const bytes = Buffer.from(frame);
  const at = Math.floor(random() * bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  return typeof frame === "string" ? bytes.toString() : bytes;
}
