/**
 * Extracting where somebody else can change a folder: a program that goes by names could be led elsewhere by him. So it works
 * in a folder of the agent's own, where he can change nothing either. What it made gets its owner and mode there, and is
 * put into its place one by one.
 */
import { hostError } from "../../../host/host-error.ts";
import type { FileAttributes, HostFiles } from "../../../host/host.ts";
import type { Machine } from "../shared/command.ts";
import { eachEntry, type StampEntry, stampName } from "./stamp.ts";

const setGroupId = 0o2000;

/** A folder that only the agent can enter; made when it is needed. */
export class Stage {
  readonly #path: string;
  readonly #machine: Machine;
  readonly #files: HostFiles;
  readonly #inside: HostFiles;
  #folder: string | null = null;

  /** @param path - The folder that the archive is for. */
  constructor(path: string, machine: Machine) {
    this.#path = path;
    this.#machine = machine;
    this.#files = machine.host.files;
    this.#inside = machine.host.files.below(path);
  }

  /** Where to extract; null = into the place itself. */
  get folder(): string | null {
    return this.#folder;
  }

  /** Where what was extracted stands until it is put into its place, and the files that go there. */
  get work(): { files: HostFiles; folder: string } {
    if (this.#folder !== null) return { files: this.#files, folder: this.#folder };
    return { files: this.#inside, folder: this.#path };
  }

  /** Makes it, empty. `HOST_ERROR` where there is no place for it that nobody else can change. */
  open(): void {
    if (this.#folder !== null) return;
    const folder = this.#findPlace();
    this.#removeAll(folder);
    this.#files.makeDirectory(folder, { mode: 0o700 });
    this.#folder = folder;
  }

  /** Puts what was extracted into its place: folders that stand there stay, all else takes the place of what was there. */
  async empty(
    entries: readonly StampEntry[],
    { owner, keptOf }: { owner: FileAttributes; keptOf: (name: string) => FileAttributes },
  ): Promise<void> {
    const folder = this.#folder;
    if (folder === null) return;
    const folders: { to: string; attributes: FileAttributes }[] = [];
    await eachEntry(entries, this.#machine, async ({ name, kind, mode }) => {
      const [from, to] = [`${folder}/${name}`, `${this.#path}/${name}`];
      const stat = this.#files.stat(from);
      if (!stat) return;
      const group = owner.gid === undefined ? this.#groupIn(to.slice(0, to.lastIndexOf("/"))) : null;
      if (kind === "file" && group)
        await this.#files.setAttributes(from, { ...group, mode: stat.mode, ...keptOf(name) });
      if (kind !== "folder") return this.#inside.move(from, to);
      const attributes = { ...owner, ...group, ...(mode !== undefined && { mode }), ...keptOf(name) };
      folders.push({ to, attributes });
      // Until it is filled the agent must be able to write there.
      const own = { ...attributes, mode: (mode ?? stat.mode | (group ? setGroupId : 0)) | 0o700 };
      if (!this.#inside.stat(to)) this.#inside.makeDirectory(to, own);
    });
    await eachEntry(folders, this.#machine, ({ to, attributes }) => {
      if (Object.keys(attributes).length > 0) return this.#inside.setAttributes(to, attributes);
      return undefined;
    });
  }

  /** The group that what is made in a folder gets, where that has the bit for it (inode(7), S_ISGID); null where it has not. */
  #groupIn(folder: string): { gid: number } | null {
    const stat = this.#inside.stat(folder);
    return stat && (stat.mode & setGroupId) !== 0 ? { gid: stat.gid } : null;
  }

  /** Takes it away with all that is left in it. */
  close(): void {
    if (this.#folder !== null) this.#removeAll(this.#folder);
    this.#folder = null;
  }

  /** The folder of the host's own, else beside the nearest folder on the way that nobody else can change. */
  #findPlace(): string {
    const { host } = this.#machine;
    const own = host.workFolder?.();
    const places = own === undefined ? [] : [own];
    for (
      let at = this.#path.lastIndexOf("/");
      at >= 0;
      at = at === 0 ? -1 : this.#path.lastIndexOf("/", at - 1)
    )
      places.push(`${this.#path.slice(0, at)}/${stampName}-${host.mark}`);
    const place = places.find((each) => this.#files.ledBy(each) === null);
    if (place === undefined) throw hostError(this.#path, "EPERM");
    return place;
  }

  #removeAll(path: string): void {
    const stat = this.#files.stat(path);
    if (!stat) return;
    if (stat.kind !== "directory") return this.#files.removeFile(path);
    for (const name of this.#files.list(path)) this.#removeAll(`${path}/${name}`);
    this.#files.removeDirectory(path);
  }
}
