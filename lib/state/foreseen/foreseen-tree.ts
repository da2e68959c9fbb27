/** What differs on a foreseen machine from the one below it, path by path. */
import { OrchestratorError } from "../../errors.ts";
import { hostError } from "../../host/host-error.ts";
import type { FileAttributes, FileDigest, FileExtras, FileStat, Host, HostFiles } from "../../host/host.ts";
import { type Passing, rootAlone, Trail, Way } from "../../host/trail.ts";
import type { MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { type Handover, Handovers } from "./handovers.ts";

/** A content, or what is known of one: where it comes from is asked only by who must read it. */
export type ForeseenContent =
  | Uint8Array
  | (Partial<FileDigest> & {
      digest(signal?: AbortSignal): MaybeWaiting<FileDigest>;
      read(): Uint8Array;
      /** Whether it is to come from a server, and nobody has it. */
      isUnread?: true;
    });

/** What stands at a path that differs. */
export interface ForeseenNode {
  kind: FileStat["kind"];
  mode: number;
  uid: number;
  gid: number;
  /** Of a file. */
  content?: ForeseenContent;
  /** Of a link. */
  target?: string;
  /** A folder of the machine below, of which only mode or owner differs: what is in it shows through. */
  isThere?: boolean;
  /** Absent = as what stands there on the machine below. */
  extras?: FileExtras;
  /** Of a file with several names. */
  links?: number;
}

/** Where a path leads. */
export interface ForeseenPlace {
  /** The path with every link above it followed. */
  real: string;
  /** The path as the machine below knows it. */
  below: string;
  /** What differs there: null where nothing stands any more, undefined where the machine below says what does. */
  node: ForeseenNode | null | undefined;
}

/** A folder as it was found with the links above it followed. */
interface Followed {
  /** Empty for the root folder. */
  real: string;
  isForeseen: boolean;
  ledBy: number | null;
}

/** Whose a thing is that is gone already: nobody's whose links one would follow. */
const nobodys = { uid: -1, mode: 0 };

/** Nothing differs at first. Links in the folders above a path are followed, those that are foreseen too. */
export class ForeseenTree {
  readonly #files: HostFiles;
  readonly #isConfined: boolean;
  readonly #nodes = new Map<string, ForeseenNode | null>();
  /** Names in a folder about which something is said. */
  readonly #names = new Map<string, Set<string>>();
  readonly #handovers = new Handovers();
  #written = new Set<string>();
  /** Folders as they were found with the links above them followed. */
  #folders = new Map<string, Followed>();

  /** @param below - The machine below. */
  constructor({ files, isConfined }: Pick<Host, "files" | "isConfined">) {
    this.#files = files;
    this.#isConfined = isConfined;
  }

  get isChanged(): boolean {
    return this.#nodes.size > 0 || this.#handovers.any;
  }

  find(path: string): ForeseenPlace {
    const { folder, name } = split(path);
    const above = this.#followed(folder, path);
    const real = join(above.real, name);
    return { real, below: above.isForeseen ? real : path, node: this.#nodeAt(real) };
  }

  /** What stands at a place; `files` may be the guarded files of a folder. */
  stat({ real, node, below }: ForeseenPlace, files: HostFiles): FileStat | null {
    if (node === undefined) return this.#handovers.applyTo(real, files.stat(below));
    if (node === null) return null;
    const { kind, mode, uid, gid, content, links } = node;
    const sizeBytes = content ? sizeOf(content) : 0;
    return { kind, mode, uid, gid, sizeBytes, ...(links !== undefined && { links }) };
  }

  /** Says that a folder, and what is in it, belongs to somebody else where it belonged to `from`. */
  handOver({ real }: Pick<ForeseenPlace, "real">, owners: Omit<Handover, "folder">): void {
    const handover = new Handovers({ folder: real, ...owners });
    for (const [path, node] of this.#nodes) this.#nodes.set(path, handover.applyTo(path, node));
    this.#handovers.add({ folder: real, ...owners });
    this.#written.add(real);
    this.#folders = new Map();
  }

  /** What is said of the names in a folder: whether something stands there. */
  *names({ real }: ForeseenPlace): Iterable<[name: string, stands: boolean]> {
    for (const name of this.#names.get(real) ?? []) yield [name, this.#nodes.get(join(real, name)) !== null];
  }

  /** `HOST_ERROR` where there is no folder to hold what is to stand at a path. */
  requireFolder(path: string, { real }: Pick<ForeseenPlace, "real">): void {
    const { folder } = split(real);
    const kind = folder === "/" ? "directory" : this.stat(this.find(folder), this.#files)?.kind;
    if (kind !== "directory") throw hostError(path, kind === undefined ? "ENOENT" : "ENOTDIR");
  }

  /** Says what stands at a path; null = nothing. `HOST_ERROR` where there is no folder to hold it. */
  put(path: string, { real }: Pick<ForeseenPlace, "real">, node: ForeseenNode | null): void {
    this.requireFolder(path, { real });
    const { folder, name } = split(real);
    // What takes the place of a link cuts off the paths through it.
    // And a folder may become somebody else's.
    if (node?.kind !== "file" || this.#linkAt(real) !== null) this.#folders = new Map();
    this.#nodes.set(real, node);
    this.#written.add(real);
    // The root folder is in no other.
    if (name === "") return;
    const names = this.#names.get(folder) ?? new Set();
    this.#names.set(folder, names.add(name));
  }

  /** Whether what stands at a path, above it or below it is said here. */
  concerns(path: string): boolean {
    if (!this.isChanged) return false;
    const { real } = this.find(path);
    for (let at = real; at !== "/"; at = split(at).folder) if (this.#nodes.has(at)) return true;
    if (this.#handovers.concern(real)) return true;
    return [...this.#nodes.keys()].some((known) => known.startsWith(`${real}/`));
  }

  /** Paths of which something was said since this was asked last. */
  takeWritten(): string[] {
    const written = [...this.#written];
    this.#written = new Set();
    return written;
  }

  /** Whether something is said of the very place that a path leads to. */
  says({ real }: ForeseenPlace): boolean {
    return this.#nodes.has(real);
  }

  /** Names under which something is said to stand, in whatever folder. */
  fileNames(): Set<string> {
    const standing = [...this.#nodes].filter(([, node]) => node !== null);
    return new Set(standing.map(([path]) => split(path).name));
  }

  /** Forgets what was said of everything below a path. */
  forgetBelow({ real }: ForeseenPlace): void {
    for (const path of this.#nodes.keys()) if (path.startsWith(`${real}/`)) this.#nodes.delete(path);
    for (const path of this.#names.keys())
      if (path === real || path.startsWith(`${real}/`)) this.#names.delete(path);
  }

  #nodeAt(real: string): ForeseenNode | null | undefined {
    const own = this.#nodes.get(real);
    if (own !== undefined) return own;
    for (let at = split(real).folder; at !== "/"; at = split(at).folder) {
      const above = this.#nodes.get(at);
      if (above === undefined || above?.isThere === true) continue;
      return null;
    }
    return undefined;
  }

  /** As {@link HostFiles.ledBy}. */
  ledBy(path: string): number | null {
    return this.#follow(path, path).ledBy;
  }

  #followed(folder: string, path: string): Followed {
    const known = this.#folders.get(folder);
    if (known) return known;
    const found = this.#follow(folder, path);
    this.#folders.set(folder, found);
    return found;
  }

  #follow(folder: string, path: string): Followed {
    const trail = new Trail(path, rootAlone);
    let done = "";
    let isForeseen = false;
    const way = new Way(partsOf(folder));
    const begin = (passing: Passing): void => {
      done = "";
      trail.restart();
      this.#enter(trail, "/", passing);
    };
    begin(null);
    for (let step = way.next(); step !== undefined; step = way.next()) {
      if (step.name === "..") {
        if (isForeseen && done === "") this.#leave(path);
        begin(way.detour(partsOf(done).slice(0, -1), "again", step));
        continue;
      }
      const next = `${done}/${step.name}`;
      const target = this.#linkAt(next);
      if (target === null) {
        done = next;
        this.#enter(trail, next, step.passing);
        continue;
      }
      trail.follow(this.#statAt(next) ?? nobodys, next);
      const isOwn = this.#nodes.has(next);
      isForeseen ||= isOwn;
      if (target.startsWith("/")) {
        if (isOwn) this.#leave(path);
        // Only the machine below knows where its own root folder is.
        else if (this.#isConfined)
          return { real: [next, ...way.names].join("/"), isForeseen, ledBy: trail.ledBy };
      }
      const passing = way.detour(partsOf(target), "led", step);
      if (target.startsWith("/")) begin(passing);
    }
    return { real: done, isForeseen, ledBy: trail.ledBy };
  }

  #enter(trail: Trail, folder: string, passing: Passing): void {
    const stat = this.#statAt(folder);
    if (stat?.kind === "directory") trail.enter(stat, passing);
  }

  #statAt(real: string): FileStat | null {
    return this.stat({ real, below: real, node: this.#nodeAt(real) }, this.#files);
  }

  /** To the machine itself a link means what it says: it does not know that a folder stands for its root. */
  #leave(path: string): void {
    if (this.#isConfined) throw new OrchestratorError("PATH_OUTSIDE_ROOT", { details: { path } });
  }

  #linkAt(real: string): string | null {
    const node = this.#nodeAt(real);
    if (node !== undefined) return node?.kind === "symlink" ? (node.target ?? "") : null;
    return this.#files.stat(real)?.kind === "symlink" ? this.#files.readLink(real) : null;
  }
}

/** Mode and owner of something new. Whose a new thing is that nobody asked for an owner of, is taken to be root's. */
export function newNode(
  kind: ForeseenNode["kind"],
  { mode = 0o600, uid = 0, gid = 0, extras }: FileAttributes,
): ForeseenNode {
  return { kind, mode, uid, gid, ...(extras && { extras }) };
}

function sizeOf(content: ForeseenContent): number {
  return content instanceof Uint8Array ? content.length : (content.sizeBytes ?? 0);
}

function split(path: string): { folder: string; name: string } {
  const at = path.lastIndexOf("/");
  return { folder: at <= 0 ? "/" : path.slice(0, at), name: path.slice(at + 1) };
}

function join(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
