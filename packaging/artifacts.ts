/** All artifacts of a version, in a folder that takes the place of the one before when it is whole. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { NotBuilt } from "./tools.ts";

/** One file that machines can get. */
export interface Artifact {
  platform: string;
  file: string;
  sha256: string;
  size: number;
}

/** The manifest of a folder. */
interface Manifest {
  version: string;
  artifacts: Artifact[];
}

/** Artifacts that are being made. */
export class Artifacts {
  /** Where they are made. */
  readonly target: string;
  readonly #place: string;
  readonly #version: string;
  readonly #made: Artifact[] = [];
  readonly #missing: string[] = [];
  readonly #tell: (line: string) => void;

  /** @param place - The folder that they are in when all are made. */
  constructor(place: string, version: string, tell: (line: string) => void) {
    this.#place = place;
    this.#version = version;
    this.#tell = tell;
    this.target = `${place}.partial`;
    rmSync(this.target, { recursive: true, force: true });
    mkdirSync(this.target, { recursive: true });
  }

  /** Makes one, or says why not. Whatever else goes wrong, the others are made. */
  async make(platform: string, work: () => string): Promise<boolean> {
    const begun = performance.now();
    try {
      const path = work();
      const hash = createHash("sha256");
      await pipeline(createReadStream(path), hash);
      const { size } = statSync(path);
      this.#made.push({ platform, file: basename(path), sha256: hash.digest("hex"), size });
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      this.#tell(`${platform}: ${basename(path)}, ${(size / 1e6).toFixed(1)} MB, in ${seconds} s`);
      return true;
    } catch (error) {
      if (!(error instanceof NotBuilt)) throw error;
      this.#missing.push(platform);
      this.#tell(`Not built: ${platform}: ${error.message}.`);
      return false;
    }
  }

  /**
   * Takes over what was built before and is not to be built now.
   *
   * @param isBuilt - Whether a platform is built now.
   * @throws {Error} Where that is of another version: machines are told one version for all.
   */
  keep(isBuilt: (platform: string) => boolean): void {
    const path = join(this.#place, "manifest.json");
    if (!existsSync(path)) return;
    const { version, artifacts } = JSON.parse(readFileSync(path, "utf8")) as Manifest;
    const kept = artifacts.filter(({ platform }) => !isBuilt(platform));
    if (kept.length > 0 && version !== this.#version) {
      const names = kept.map(({ platform }) => platform).join(", ");
      throw new Error(
        `${names} in ${this.#place} are of version ${version}: build all, or remove that folder.`,
      );
    }
    for (const artifact of kept) {
      copyFileSync(join(this.#place, artifact.file), join(this.target, artifact.file));
      this.#made.push(artifact);
      this.#tell(`${artifact.platform}: ${artifact.file} stays as it was`);
    }
  }

  /** Puts them in the place of those before. */
  finish(): void {
    const manifest: Manifest = { version: this.#version, artifacts: this.#made };
    writeFileSync(join(this.target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    rmSync(this.#place, { recursive: true, force: true });
    renameSync(this.target, this.#place);
    const missing = this.#missing.length > 0 ? `; not built: ${this.#missing.join(", ")}` : "";
    this.#tell(`In ${this.#place}: ${this.#made.length} artifacts${missing}.`);
  }
}
