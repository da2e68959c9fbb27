/** Which paths of a run are one: the folders above them with every link followed, those that the run itself will make too. */
import { isOrchestratorError } from "../../errors.ts";
import type { HostFiles } from "../../host/host.ts";
import { isBeside } from "../../internal/path-text.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { Prior } from "../resource-type.ts";

/** As many as the kernel follows. */
const maxLinks = 40;

/** What is looked at: each folder once. */
export interface RealPathsOptions {
  files: Pick<HostFiles, "stat" | "readLink" | "ledBy">;
  /** Whether links of a user are to be trusted: those of root, and of the agent. */
  isTrusted: (uid: number) => boolean;
  /** Only the machine below knows where a link from the root of a confined host leads: such a path stays as it is written. */
  isConfined: boolean;
  /** Links that the run will make, with their targets; null = one that it takes away. */
  links?: ReadonlyMap<string, string | null>;
}

/** Finds the real path of a thing: its folder with every link followed, and its own name as it is. */
export class RealPaths {
  readonly #options: RealPathsOptions;
  readonly #folders = new Map<string, Way>();
  /** The folder that was asked for last: most things stand beside the one before. */
  #last = { folder: "", real: "", isLed: false };

  constructor(options: RealPathsOptions) {
    this.#options = options;
  }

  /** The path as it is written where its folder can't be looked at. */
  of(path: string): string {
    return this.way(path).real;
  }

  /** The same, and whether somebody else than root and the agent has a hand in where it leads. */
  way(path: string): Way {
    try {
      return this.#of(path, 0);
    } catch (error) {
      if (isOrchestratorError(error)) return { real: path, isLed: false };
      throw error;
    }
  }

  #of(path: string, links: number): Way {
    if (!isBeside(path, this.#last.folder)) {
      const slash = path.lastIndexOf("/");
      if (slash <= 0) return { real: path, isLed: false };
      const folder = path.slice(0, slash);
      this.#last = { folder, ...this.#folder(folder, links) };
    }
    const { folder, real, isLed } = this.#last;
    return { real: folder === real ? path : join(real, path.slice(folder.length + 1)), isLed };
  }

  #folder(folder: string, links: number): Way {
    const known = this.#folders.get(folder);
    if (known) return known;
    const way = this.#follow(this.#of(folder, links), links);
    this.#folders.set(folder, way);
    return way;
  }

  /** A folder that is not there yet, or not to be followed, is its own. */
  #follow({ real, isLed }: Way, links: number): Way {
    const { target, isTheirs } = this.#linkAt(real);
    if (target === null || links >= maxLinks) return { real, isLed };
    const isAbsolute = target.startsWith("/");
    if (isAbsolute && this.#options.isConfined) return { real, isLed };
    const above = isAbsolute ? "/" : folderOf(real);
    return target
      .split("/")
      .filter((part) => part !== "" && part !== ".")
      .reduce<Way>(
        (at, part) => {
          if (part === "..") return { ...at, real: folderOf(at.real) };
          return this.#follow({ ...at, real: join(at.real, part) }, links + 1);
        },
        { real: above, isLed: isLed || isTheirs || this.#options.files.ledBy(folderOf(real)) !== null },
      );
  }

  /**
   * Looks who owns a link before where it leads: what is root's then stays so. One that stands as it is declared is left by the run,
   * and stays whose it is.
   */
  #linkAt(real: string): { target: string | null; isTheirs: boolean } {
    const { files, links, isTrusted } = this.#options;
    const declared = links?.get(real);
    if (declared === null) return { target: null, isTheirs: false };
    const link = files.stat(real);
    const target = link?.kind === "symlink" ? files.readLink(real) : null;
    if (declared !== undefined && declared !== target) return { target: declared, isTheirs: false };
    return { target, isTheirs: link !== null && target !== null && !isTrusted(link.uid) };
  }
}

/** Where a path leads. */
interface Way {
  real: string;
  /** Whether a link on the way is somebody else's, who may lead it elsewhere. */
  isLed: boolean;
}

const folderOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")));

function join(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** What stood before, with the real path of all that it is about. */
export function realPrior(prior: Prior, real: (path: string) => string): Prior {
  const { path } = prior.spec;
  const moved = typeof path === "string" ? movePrior(prior, path, real(path)) : prior;
  const { elsewhere } = moved.spec;
  if (!Array.isArray(elsewhere)) return moved;
  const files = elsewhere.map((each) => withPath(each, (at) => real(at)));
  return { ...moved, spec: { ...moved.spec, elsewhere: files } };
}

/** What stood at one path, as what stood at another one that leads there; unchanged where it is about something else. */
export function movePrior(prior: Prior, from: string, to: string): Prior {
  if (from === to) return prior;
  const { path, inside, made_parents: parents, elsewhere } = prior.spec;
  const isIt = path === from;
  const below = (at: string): string => (at.startsWith(`${from}/`) ? to + at.slice(from.length) : at);
  const moved: JsonObject = {
    ...(isIt && { path: to }),
    ...(isIt && Array.isArray(inside) && { inside: inside.map((each) => withPath(each, below)) }),
    ...(isIt && Array.isArray(parents) && { made_parents: parents.map((each) => aboveOf(each, from, to)) }),
    ...(Array.isArray(elsewhere) && {
      elsewhere: elsewhere.map((each) => withPath(each, (at) => (at === from ? to : at))),
    }),
  };
  return Object.keys(moved).length === 0 ? prior : { ...prior, spec: { ...prior.spec, ...moved } };
}

function withPath(entry: Json, move: (path: string) => string): Json {
  const path = typeof entry === "object" && entry !== null && !Array.isArray(entry) ? entry["path"] : null;
  return typeof path === "string" ? { ...(entry as JsonObject), path: move(path) } : entry;
}

/** A folder above one path, made together with it and so no link, as it is called from the other. */
function aboveOf(parent: Json, from: string, to: string): Json {
  if (typeof parent !== "string" || !from.startsWith(`${parent}/`)) return parent;
  const rest = from.slice(parent.length);
  return to.endsWith(rest) ? to.slice(0, to.length - rest.length) : parent;
}
