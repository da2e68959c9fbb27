/** Which paths of a run are one: the folders above them with every link followed, those that the run itself will make too. */
import { isOrchestratorError } from "../../errors.ts";
import type { HostFiles } from "../../host/host.ts";
import { isBeside } from "../../internal/path-text.ts";

/** As many as the kernel follows. */
const maxLinks = 40;

/** What is looked at: each folder once. */
export interface RealPathsOptions {
  files: Pick<HostFiles, "stat" | "readLink">;
  /** Only the machine below knows where a link from the root of a confined host leads: such a path stays as it is written. */
  isConfined: boolean;
  /** Links that the run will make, with their targets; null = one that it takes away. */
  links?: ReadonlyMap<string, string | null>;
}

/** Finds the real path of a thing: its folder with every link followed, and its own name as it is. */
export class RealPaths {
  readonly #options: RealPathsOptions;
  readonly #folders = new Map<string, string>();
  /** The folder that was asked for last: most things stand beside the one before. */
  #last = { folder: "", real: "" };

  constructor(options: RealPathsOptions) {
    this.#options = options;
  }

  /** The path as it is written where its folder can't be looked at. */
  of(path: string): string {
    try {
      return this.#of(path, 0);
    } catch (error) {
      if (isOrchestratorError(error)) return path;
      throw error;
    }
  }

  #of(path: string, links: number): string {
    if (!isBeside(path, this.#last.folder)) {
      const slash = path.lastIndexOf("/");
      if (slash <= 0) return path;
      this.#last = this.#folder(path.slice(0, slash), links);
    }
    const { folder, real } = this.#last;
    return folder === real ? path : join(real, path.slice(folder.length + 1));
  }

  #folder(folder: string, links: number): { folder: string; real: string } {
    const known = this.#folders.get(folder);
    const real = known ?? this.#follow(this.#of(folder, links), links);
    if (known === undefined) this.#folders.set(folder, real);
    return { folder, real };
  }

  /** A folder that is not there yet, or not to be followed, is its own. */
  #follow(real: string, links: number): string {
    const target = this.#linkAt(real);
    if (target === null || links >= maxLinks) return real;
    const isAbsolute = target.startsWith("/");
    if (isAbsolute && this.#options.isConfined) return real;
    const above = isAbsolute ? "/" : real.slice(0, Math.max(1, real.lastIndexOf("/")));
    return target
      .split("/")
      .filter((part) => part !== "" && part !== ".")
      .reduce((at, part) => {
        if (part === "..") return at.slice(0, Math.max(1, at.lastIndexOf("/")));
        return this.#follow(join(at, part), links + 1);
      }, above);
  }

  #linkAt(real: string): string | null {
    const { files, links } = this.#options;
    const declared = links?.get(real);
    if (declared !== undefined) return declared;
    return files.stat(real)?.kind === "symlink" ? files.readLink(real) : null;
  }
}

function join(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
