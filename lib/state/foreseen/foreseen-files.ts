import { refuseLinksBelow } from "../../host/files-below.ts";
import { modeAfter, mustBeNew } from "../../host/hands.ts";
import { hostError, requireSame } from "../../host/host-error.ts";
import type {
  ChangeOptions,
  FileAttributes,
  FileChange,
  FileComparison,
  FileDigest,
  FileExtras,
  FileOwner,
  FileStat,
  HostFiles,
  WriteOptions,
} from "../../host/host.ts";
import { extrasWithMode } from "../../host/posix-acl.ts";
import type { MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { type ForeseenContent, type ForeseenPlace, type ForeseenTree, newNode } from "./foreseen-tree.ts";

/** What the files of a foreseen machine share, guarded or not. */
export interface ForeseenFilesParts {
  tree: ForeseenTree;
  /** The files of the machine below, not guarded. */
  all: HostFiles;
  /** SHA-256, hex. */
  sha256(content: Uint8Array): string;
  /** Called with each path that is looked at. */
  noteLook(path: string): void;
}

/** Files as they will be: what is written is kept in memory, everything else is read from the machine below. */
export class ForeseenFiles implements HostFiles {
  readonly #files: HostFiles;
  readonly #parts: ForeseenFilesParts;
  readonly #guarded: string | null;

  /**
   * @param files - Those of the machine below.
   * @param guarded - The folder that {@link HostFiles.below} was asked for.
   */
  constructor(files: HostFiles, parts: ForeseenFilesParts, guarded: string | null = null) {
    this.#files = files;
    this.#parts = parts;
    this.#guarded = guarded;
  }

  below(folder: string): ForeseenFiles {
    const { tree } = this.#parts;
    // A link that is foreseen on the way leads to what the machine below knows by another path.
    const there = tree.isChanged ? tree.find(folder).below : folder;
    return new ForeseenFiles(this.#files.below(there), this.#parts, this.#guarded ?? folder);
  }

  stat(path: string): FileStat | null {
    return this.#isAsBelow(path) ? this.#files.stat(path) : this.#statAt(this.#find(path));
  }

  ledBy(path: string): number | null {
    return this.#isAsBelow(path) ? this.#files.ledBy(path) : this.#parts.tree.ledBy(path);
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    if (this.#isAsBelow(path)) return this.#files.readFile(path, expected);
    const content = this.#contentOf(path, expected);
    if (typeof content === "string") return this.#files.readFile(content);
    return content instanceof Uint8Array ? Uint8Array.from(content) : content.read();
  }

  hashFile(path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    if (this.#isAsBelow(path)) return this.#files.hashFile(path, signal);
    const content = this.#contentOf(path);
    if (typeof content === "string") return this.#files.hashFile(content, signal);
    return this.digest(content, signal);
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    if (this.#isAsBelow(path)) return this.#files.compareFile(path, content);
    const place = this.#find(path);
    const stat = this.#statAt(place);
    if (place.node === undefined) return { ...this.#files.compareFile(place.below, content), stat };
    const there = place.node?.content;
    if (!there) return { stat, same: false };
    if (there instanceof Uint8Array) return { stat, same: Buffer.compare(there, content) === 0 };
    if (there.sha256 !== undefined) return { stat, same: there.sha256 === this.#parts.sha256(content) };
    return { stat, same: there.sizeBytes === content.length && Buffer.compare(there.read(), content) === 0 };
  }

  readLink(path: string): string {
    const { node, below } = this.#find(path);
    if (node === undefined) return this.#files.readLink(below);
    if (node?.target === undefined) throw hostError(path, node ? "EINVAL" : "ENOENT");
    return node.target;
  }

  extras(path: string): FileExtras | null {
    const { node, below } = this.#find(path);
    if (node === undefined) return this.#files.extras(below);
    if (node === null || node.kind === "symlink") return null;
    return extrasWithMode(node.extras ?? this.#files.extras(below) ?? {}, node.mode);
  }

  requireChangeable(path: string, change: FileChange, options?: WriteOptions): void {
    this.#requireChangeable(this.#find(path), change, options);
  }

  list(path: string): string[] {
    // Whoever asks for all names rests on each that there may be.
    this.#parts.noteLook(`${path}/*`);
    if (this.#isAsBelow(path)) return this.#files.list(path);
    const place = this.#find(path);
    const showsThrough = place.node === undefined || place.node?.isThere === true;
    if (!showsThrough && place.node?.kind !== "directory")
      throw hostError(path, place.node ? "ENOTDIR" : "ENOENT");
    const names = new Set(showsThrough ? this.#files.list(place.below) : []);
    for (const [name, stands] of this.#parts.tree.names(place)) {
      if (stands) names.add(name);
      else names.delete(name);
    }
    return [...names].sort();
  }

  writeFile(path: string, content: Uint8Array, options: WriteOptions): void {
    this.putFile(path, Uint8Array.from(content), options);
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    const place = this.#find(path);
    if (this.#statAt(place)) throw hostError(path, "EEXIST");
    this.#requireChangeable(place, "write");
    this.#parts.tree.put(path, place, newNode("directory", { mode: 0o700, ...attributes }));
  }

  makeSymlink(path: string, target: string, owner: FileOwner = {}): void {
    const place = this.#find(path);
    if (this.#statAt(place)?.kind === "directory") throw hostError(path, "EISDIR");
    this.#requireChangeable(place, "replace");
    this.#parts.tree.put(path, place, { ...newNode("symlink", { ...owner, mode: 0o777 }), target });
  }

  move(from: string, to: string): void {
    const place = this.#find(from);
    const stat = this.#require(from, place);
    if (stat.kind === "directory") throw hostError(from, "EISDIR");
    if (this.#find(to).real === place.real) return;
    if (stat.kind === "symlink") this.makeSymlink(to, this.readLink(from));
    else {
      const { mode, uid, gid } = stat;
      this.putFile(to, this.contentAt(from), { mode, uid, gid });
    }
    this.removeFile(from);
  }

  setAttributes(path: string, { keepLinks, loseExtras, ...attributes }: ChangeOptions): void {
    const place = this.#find(path);
    const stat = this.#require(path, place);
    const { kind, mode, uid, gid } = stat;
    if (kind === "symlink" && attributes.mode !== undefined) throw hostError(path, "ELOOP");
    const losses = { ...(keepLinks && { keepLinks }), ...(loseExtras && { loseExtras }) };
    this.#requireChangeable(place, "attributes", { ...attributes, ...losses });
    const options = { ...attributes, keepLinks: !mustBeNew(stat, attributes) };
    if (kind === "file") return this.#put(path, place, { content: this.#contentOf(path), options });
    const isThere = place.node === undefined || place.node?.isThere === true;
    const extras = place.node?.extras;
    const rest = { ...(extras && { extras }), ...(kind === "symlink" && { target: this.readLink(path) }) };
    this.#parts.tree.put(path, place, { kind, mode, uid, gid, ...rest, ...attributes, isThere });
  }

  removeFile(path: string): void {
    const place = this.#find(path);
    if (this.#require(path, place).kind === "directory") throw hostError(path, "EISDIR");
    this.#requireChangeable(place, "replace");
    this.#parts.tree.put(path, place, null);
  }

  removeDirectory(path: string): void {
    const place = this.#find(path);
    if (this.#require(path, place).kind !== "directory") throw hostError(path, "ENOTDIR");
    if (this.list(path).length > 0) throw hostError(path, "ENOTEMPTY");
    this.#requireChangeable(place, "replace");
    this.#parts.tree.put(path, place, null);
  }

  /** Foresees that nothing is in a folder any more. */
  clear(path: string): void {
    const place = this.#find(path);
    const { mode, uid, gid } = this.#require(path, place);
    this.#parts.tree.forgetBelow(place);
    this.#parts.tree.put(path, place, { kind: "directory", mode, uid, gid });
  }

  /** Foresees that nothing stands at a path, whatever stood there. */
  removeAll(path: string): void {
    const kind = this.stat(path)?.kind;
    if (kind === undefined) return;
    if (kind !== "directory") return this.removeFile(path);
    this.clear(path);
    this.removeDirectory(path);
  }

  /** Foresees that a folder and all in it belongs to somebody else where it belonged to `from`. */
  handOver(path: string, owners: { from: Required<FileOwner>; to: Required<FileOwner> }): void {
    this.#parts.tree.handOver(this.#find(path), owners);
  }

  /** Foresees a copy of a file, also of one whose content is known by its hash alone. */
  copyFile(from: string, to: string, options: WriteOptions): void {
    this.putFile(to, this.contentAt(from), options);
  }

  /** Refuses to put a file at a path, as {@link writeFile} would. */
  requireRoom(path: string, options: WriteOptions): void {
    const place = this.#find(path);
    if (this.#statAt(place)?.kind === "directory") throw hostError(path, "EISDIR");
    this.#parts.tree.requireFolder(path, place);
    this.#requireChangeable(place, "write", options);
  }

  /** As {@link writeFile}, also for a content that is known by its hash alone. */
  putFile(path: string, content: ForeseenContent, options: WriteOptions): void {
    this.requireRoom(path, options);
    this.#put(path, this.#find(path), { content, options });
  }

  /** What stands at a path, to be put elsewhere or read later. */
  contentAt(path: string, expected?: FileStat): ForeseenContent {
    const content = this.#contentOf(path, expected);
    if (typeof content !== "string") return content;
    return {
      sizeBytes: this.#require(path, this.#find(path)).sizeBytes,
      digest: (signal) => this.#files.hashFile(content, signal),
      read: () => this.#files.readFile(content),
    };
  }

  /** Whether the content of a file can be read, and is not known by its hash alone. */
  isContentKnown(path: string): boolean {
    const content = this.#contentOf(path);
    return typeof content === "string" || content instanceof Uint8Array || content.isUnread !== true;
  }

  /** Hash and size of a content. */
  digest(content: ForeseenContent, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    if (!(content instanceof Uint8Array)) return content.digest(signal);
    return { sha256: this.#parts.sha256(content), sizeBytes: content.length };
  }

  /** Whether what is asked about a path is what the machine below says of it. */
  #isAsBelow(path: string): boolean {
    this.#parts.noteLook(path);
    return !this.#parts.tree.isChanged;
  }

  #find(path: string): ForeseenPlace {
    if (this.#guarded !== null) {
      const all = new ForeseenFiles(this.#parts.all, this.#parts);
      refuseLinksBelow(all, this.#guarded, path);
    }
    return this.#parts.tree.find(path);
  }

  /** What differs already was changeable, and so was what is new. */
  #requireChangeable({ node, below }: ForeseenPlace, change: FileChange, options?: WriteOptions): void {
    if (node === undefined) this.#files.requireChangeable(below, change, options);
  }

  #statAt(place: ForeseenPlace): FileStat | null {
    return this.#parts.tree.stat(place, this.#files);
  }

  #require(path: string, place: ForeseenPlace): FileStat {
    const stat = this.#statAt(place);
    if (!stat) throw hostError(path, "ENOENT");
    return stat;
  }

  /** The content, or where the machine below has it. */
  #contentOf(path: string, expected?: FileStat): ForeseenContent | string {
    const place = this.#find(path);
    const stat = this.#require(path, place);
    requireSame(path, stat, expected);
    if (place.node === undefined) return place.below;
    if (stat.kind === "file" && place.node?.content) return place.node.content;
    throw hostError(path, stat.kind === "directory" ? "EISDIR" : "ELOOP");
  }

  #put(
    path: string,
    place: ForeseenPlace,
    { content, options }: { content: ForeseenContent | string; options: WriteOptions },
  ): void {
    const there = this.#statAt(place);
    const extras = place.node?.extras;
    const file = there?.kind === "file" ? there : null;
    const kept = file && { ...file, ...(extras && { extras }), mode: modeAfter(file, options) };
    const node = newNode("file", { ...kept, ...options });
    const links = options.keepLinks === true ? there?.links : undefined;
    const whole = typeof content === "string" ? this.contentAt(path) : content;
    this.#parts.tree.put(path, place, { ...node, content: whole, ...(links !== undefined && { links }) });
  }
}
