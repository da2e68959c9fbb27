import type { Crypto } from "../crypto/crypto.ts";
import { nodeIdOf } from "../crypto/encoding.ts";
import { isAnswerSigned, readAnswer } from "../wire/discovery-packets.ts";

/** Most agents that are told of, and most signatures that are checked: anybody in the network may send packets. */
const mostAnswers = 1_000;
const mostChecks = 2_000;

/** What an agent answered. */
export interface HeardAnswer {
  node_id: string;
  hostname: string;
  /** Where it came from. */
  address: string;
  agent_version: string;
}

/** The answers to one announcement, each agent's first. */
export class Answers {
  readonly #to: { crypto: Crypto; nonce: Uint8Array; publicKey: Uint8Array };
  readonly #heard = new Map<string, HeardAnswer>();
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
    if (this.#heard.size === mostAnswers || this.#checks === mostChecks) return;
    const answer = readAnswer(packet);
    if (!answer || !crypto.equal(answer.nonce, nonce)) return;
    const node_id = nodeIdOf(answer.publicKey, crypto);
    if (this.#heard.has(node_id)) return;
    this.#checks += 1;
    if (!isAnswerSigned(crypto, packet, publicKey)) return;
    const { hostname, agentVersion: agent_version } = answer;
    this.#heard.set(node_id, { node_id, hostname, address, agent_version });
  }
}
