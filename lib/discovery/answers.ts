import type { Crypto } from "../crypto/crypto.ts";
import { nodeIdOf } from "../crypto/encoding.ts";
import { isAnswerSigned, readAnswer } from "../wire/discovery-packets.ts";

/** Most agents that are told of, and most signatures that are checked: anybody in the network may send packets. */
const mostAnswers = 1_000;
const mostChecks = 2_000;
/** From so many checks on, the rest are for addresses that have had few. */
const freeChecks = 1_000;
const fewChecks = 50;

/** What an agent answered. */
export interface HeardAnswer {
  node_id: string;
  hostname: string;
  /** Where it came from. */
  address: string;
  agent_version: string;
}

/**
 * The answers to one announcement, each agent's first. Who floods takes no place of others: where there are too many answers, one of the
 * address with the most gives way to one of an address with fewer.
 */
export class Answers {
  readonly #to: { crypto: Crypto; nonce: Uint8Array; publicKey: Uint8Array };
  readonly #heard = new Map<string, HeardAnswer>();
  /** Answers that are kept, and signatures that were checked, by address. */
  readonly #kept = new Map<string, number>();
  readonly #checked = new Map<string, number>();
  #checks = 0;

  /** @param to - What is answered: the nonce, and the key of the orchestrator. */
  constructor(to: { crypto: Crypto; nonce: Uint8Array; publicKey: Uint8Array }) {
    this.#to = to;
  }

  get heard(): HeardAnswer[] {
    return [...this.#heard.values()];
  }

  /** Takes a packet, whatever it is. */
  hear(packet: Uint8Array, address: string): void {
    const { crypto, nonce, publicKey } = this.#to;
    if (!this.#mayCheck(address)) return;
    const answer = readAnswer(packet);
    if (!answer || !crypto.equal(answer.nonce, nonce)) return;
    const node_id = nodeIdOf(answer.publicKey, crypto);
    if (this.#heard.has(node_id)) return;
    this.#checks += 1;
    add(this.#checked, address, 1);
    if (!isAnswerSigned(crypto, packet, publicKey) || !this.#makeRoom(address)) return;
    const { hostname, agentVersion: agent_version } = answer;
    this.#heard.set(node_id, { node_id, hostname, address, agent_version });
    add(this.#kept, address, 1);
  }

  #mayCheck(address: string): boolean {
    if (this.#checks < freeChecks) return true;
    return this.#checks < mostChecks && (this.#checked.get(address) ?? 0) < fewChecks;
  }

  #makeRoom(address: string): boolean {
    if (this.#heard.size < mostAnswers) return true;
    const [most, count] = [...this.#kept].reduce((a, b) => (b[1] > a[1] ? b : a));
    if (count <= (this.#kept.get(address) ?? 0) + 1) return false;
    const last = this.heard.findLast((answer) => answer.address === most);
    if (!last) return false;
    this.#heard.delete(last.node_id);
    add(this.#kept, most, -1);
    return true;
  }
}

function add(counts: Map<string, number>, address: string, change: number): void {
  counts.set(address, (counts.get(address) ?? 0) + change);
}
