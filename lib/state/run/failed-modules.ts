/** How far a failure reaches: the rest of its module and the modules that require it; everything, where its resource says so. */
import type { ResolvedResource } from "../resource.ts";

/** The modules of a run that a failure has ended. */
export class FailedModules {
  /** By module: the resource that failed. */
  readonly #stopped = new Map<string, string>();
  #everything: string | null = null;

  /** Notes that a resource failed. */
  note({ module, on_failure }: ResolvedResource, key: string): void {
    if (on_failure === "continue") return;
    if (on_failure === "stop_all") this.#everything ??= key;
    if (!this.#stopped.has(module)) this.#stopped.set(module, key);
  }

  /** Why a resource is not worked on any more; null = it is. */
  reasonFor({ module, requires_modules = [] }: ResolvedResource): string | null {
    if (this.#everything !== null) return `Not begun: the run ended with the failure of ${this.#everything}.`;
    const own = this.#stopped.get(module);
    if (own !== undefined) return `Not begun: its module ended with the failure of ${own}.`;
    const missing = requires_modules.find((name) => this.#stopped.has(name));
    return missing === undefined ? null : `Not begun: its module requires ${missing}, which was not done.`;
  }
}
