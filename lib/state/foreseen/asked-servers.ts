/** Servers that are asked whether they have what a plan would download. */
import type { DownloadQuestion, Host } from "../../host/host.ts";
import type { ForeseenMachine } from "../resource-type.ts";

/** What decides where a name leads and which server is trusted, and what may bring a server of this machine's own. */
const networkPlaces = ["/", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki"];

/** Asks each server once for each address. */
export class AskedServers {
  readonly #below: Host;
  readonly #machine: Pick<ForeseenMachine, "cannotTell" | "refusalRestsOn">;
  readonly #answers = new Map<string, Promise<string | null>>();

  /**
   * @param below - The machine as it is, which asks.
   * @param machine - Gets told what can't be told, and on what a refusal rests.
   */
  constructor(below: Host, machine: Pick<ForeseenMachine, "cannotTell" | "refusalRestsOn">) {
    this.#below = below;
    this.#machine = machine;
  }

  /** As {@link Host.askDownload}. */
  async ask(question: DownloadQuestion, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    const { url, headers, maxBytes } = question;
    const key = JSON.stringify([url, headers, maxBytes]);
    const asking = this.#answers.get(key) ?? this.#ask({ ...question }, signal);
    this.#answers.set(key, asking);
    try {
      const why = await asking;
      if (why !== null) this.#machine.cannotTell(why);
      return why;
    } catch (error) {
      if (signal.aborted) this.#answers.delete(key);
      this.#machine.refusalRestsOn(networkPlaces);
      throw error;
    }
  }

  async #ask(question: DownloadQuestion, signal: AbortSignal): Promise<string | null> {
    if (!this.#below.askDownload) return "Whether it can be downloaded can't be told: nobody can be asked.";
    return this.#below.askDownload(question, signal);
  }
}
