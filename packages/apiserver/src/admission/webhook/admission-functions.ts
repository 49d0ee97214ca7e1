// Functions of this process that admit requests like webhooks, but without a server and certificates. They are called
// before the configured webhooks. Made by users with `admit`, installed by the control plane.
import {
  type Clock,
  type DeepReadonly,
  isStatusError,
  type KubernetesObject,
  type LabelSelectorSpec,
  type Resource,
  systemClock,
  type UnstructuredObject,
} from '@kapstan/api';
import {
  type AdmissionOperation,
  type AdmissionRequest,
  type AdmissionResponse,
  addAbortListener,
  type CallSignal,
  copyInSlices,
  messageOf,
  removeAbortListener,
} from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { type MatchCondition, MatchConditions } from '../matching/match-conditions.ts';
import type { RequestExpressions } from '../matching/request-expressions.ts';
import { admissionRequest } from './admission-review.ts';
import { type AdmissionWebhook, admissionWebhook, type WebhookSource } from './admission-webhook.ts';
import type { AdmissionReviewAnswer, WebhookCaller, WebhookQuestion } from './webhook-caller.ts';
import { WebhookCallError } from './webhook-failure.ts';

/** Absent or undefined = allowed. */
export type AdmissionAnswer = AdmissionResponse | undefined;

/** Arguments that a function of the program gets in addition to the request that it admits. */
export interface AdmissionFunctionCall {
  /** Aborted when the client has gone or the time is over. */
  readonly signal: AbortSignal;
}

/** At least one of `mutate` and `validate` must be given. A StatusError that they throw is the answer to the client. */
export interface AdmissionFunctionOptions<T extends KubernetesObject> {
  /** Name in messages, metrics and audit annotations. Default "functions.kapstan.dev". */
  readonly name?: string;
  /** Default CREATE and UPDATE. */
  readonly operations?: readonly AdmissionOperation[] | undefined;
  /** "status", "scale", …; "*" = the object and all subresources. Default: the object alone. */
  readonly subresource?: string | undefined;
  /** Whether a function that throws or takes too long refuses the request. Default "Fail". */
  readonly failurePolicy?: 'Fail' | 'Ignore' | undefined;
  /** Whether requests in other versions of the resource count, converted. Default "Equivalent". */
  readonly matchPolicy?: 'Exact' | 'Equivalent' | undefined;
  /** Expressions that must all hold for the request. Default none. */
  readonly matchConditions?: readonly MatchCondition[] | undefined;
  /** Selects the namespaces of the objects. Default all. */
  readonly namespaceSelector?: LabelSelectorSpec | undefined;
  /** Selects the objects, before or after the change. Default all. */
  readonly objectSelector?: LabelSelectorSpec | undefined;
  /** Time limit of a call, at least 1. Default 10. */
  readonly timeoutSeconds?: number | undefined;
  /** Whether `mutate` is called again when the object is changed after its call. Default "Never". */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded' | undefined;
  /** May change `request.object`, which is its own copy, or answer with a patch. */
  mutate?(request: AdmissionRequest<T>, call: AdmissionFunctionCall): AdmissionAnswer | Promise<AdmissionAnswer>;
  /** Called at the end, with the object as it would be written. */
  validate?(
    request: DeepReadonly<AdmissionRequest<T>>,
    call: AdmissionFunctionCall,
  ): AdmissionAnswer | Promise<AdmissionAnswer>;
}

/** Made by {@link admit}. */
export interface AdmissionFunction {
  readonly resource: Resource | '*';
  readonly options: AdmissionFunctionOptions<KubernetesObject>;
}

/**
 * Returns a function that admits requests about a resource; "*" = about all resources. Requests in other versions are
 * converted to the version of the resource. Throws TypeError for options without any function.
 */
export function admit<T extends KubernetesObject = UnstructuredObject>(
  resource: Resource<T> | '*',
  options: AdmissionFunctionOptions<T>,
): AdmissionFunction {
  const { mutate, validate, timeoutSeconds = 10 } = options;
  if (mutate === undefined && validate === undefined) throw new TypeError('admit requires mutate or validate');
  if (!(timeoutSeconds >= 1)) throw new TypeError(`timeoutSeconds must be at least 1, not ${timeoutSeconds}`);
  return {
    resource: resource as Resource | '*',
    options: options as unknown as AdmissionFunctionOptions<KubernetesObject>,
  };
}

/** The functions of a server. They may come and go while it runs. */
export class AdmissionFunctions {
  readonly #clock: Clock;
  readonly #functions = new Set<AdmissionFunction>();
  #expressions: RequestExpressions | undefined;
  readonly #refusals = new Map<'mutate' | 'validate', string>();
  #mutating: readonly AdmissionWebhook[] = [];
  #validating: readonly AdmissionWebhook[] = [];

  constructor(functions: Iterable<AdmissionFunction> = [], clock: Clock = systemClock) {
    this.#clock = clock;
    for (const each of functions) this.add(each);
  }

  /** The number of functions at present. */
  get size(): number {
    return this.#functions.size;
  }

  /**
   * Takes effect with the next request. The returned function removes it again. Throws TypeError for a function that
   * would never be called.
   */
  add(admission: AdmissionFunction): () => void {
    for (const [type, why] of this.#refusals) if (admission.options[type] !== undefined) throw new TypeError(why);
    this.#functions.add(admission);
    this.#rebuild();
    return () => {
      this.#functions.delete(admission);
      this.#rebuild();
    };
  }

  /** Provides the server's expressions, without which no match condition can be read. */
  useExpressions(expressions: RequestExpressions): void {
    this.#expressions = expressions;
    this.#rebuild();
  }

  /**
   * Refuses functions that mutate, or that validate, because they would never be called. Throws TypeError if there are any.
   */
  refuse(type: 'mutate' | 'validate', why: string): void {
    this.#refusals.set(type, why);
    for (const { options } of this.#functions) if (options[type] !== undefined) throw new TypeError(why);
  }

  /** Returns a source that has the functions before the webhooks of another one. */
  before(source: WebhookSource, type: 'mutating' | 'validating'): WebhookSource {
    const own = (): readonly AdmissionWebhook[] => (type === 'mutating' ? this.#mutating : this.#validating);
    return {
      get hasSynced() {
        return source.hasSynced;
      },
      get webhooks() {
        const functions = own();
        return functions.length === 0 ? source.webhooks : [...functions, ...source.webhooks];
      },
    };
  }

  #rebuild(): void {
    const all = [...this.#functions];
    const webhooksOf = (type: 'mutate' | 'validate'): readonly AdmissionWebhook[] =>
      all.flatMap((each, index) => (each.options[type] === undefined ? [] : [this.#webhookOf(each, type, index)]));
    this.#mutating = webhooksOf('mutate');
    this.#validating = webhooksOf('validate');
  }

  #webhookOf({ resource, options }: AdmissionFunction, type: 'mutate' | 'validate', index: number): AdmissionWebhook {
    const { name = 'functions.kapstan.dev', operations = ['CREATE', 'UPDATE'], subresource = '' } = options;
    const { failurePolicy = 'Fail', reinvocationPolicy = 'Never', matchPolicy = 'Equivalent' } = options;
    const { namespaceSelector = {}, objectSelector = {} } = options;
    const plural = resource === '*' ? '*' : resource.plural;
    const spec = {
      name,
      rules: [
        {
          operations,
          apiGroups: [resource === '*' ? '*' : resource.group],
          apiVersions: [resource === '*' ? '*' : resource.version],
          resources: [subresource === '' ? plural : `${plural}/${subresource}`],
        },
      ],
      failurePolicy,
      reinvocationPolicy,
      matchPolicy,
      namespaceSelector,
      objectSelector,
      sideEffects: 'NoneOnDryRun',
    };
    const caller = new FunctionCaller(options, { type, clock: this.#clock });
    return admissionWebhook(spec, { configuration: 'functions', index, conditions: this.#conditions(options), caller });
  }

  #conditions({ matchConditions = [] }: AdmissionFunctionOptions<KubernetesObject>): MatchConditions | undefined {
    // Functions may be added before a server has them; nothing calls them until it provides its expressions.
    if (matchConditions.length === 0 || this.#expressions === undefined) return undefined;
    return new MatchConditions(matchConditions, this.#expressions);
  }
}

interface FunctionCallerPorts {
  readonly type: 'mutate' | 'validate';
  readonly clock: Clock;
}

class FunctionCaller implements WebhookCaller {
  readonly #options: AdmissionFunctionOptions<KubernetesObject>;
  readonly #ports: FunctionCallerPorts;

  constructor(options: AdmissionFunctionOptions<KubernetesObject>, ports: FunctionCallerPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  async ask({ webhook, invocation, signal }: WebhookQuestion): Promise<AdmissionReviewAnswer> {
    // A function that changes the objects of a validation, or keeps them, only affects its own copies.
    const asked = admissionRequest(invocation, '');
    const request = (await runInTurns(copyInSlices(asked), signal)) as AdmissionRequest;
    const failed = (cause: unknown): WebhookCallError => {
      const why = `failed to call webhook: ${messageOf(cause)}`;
      return new WebhookCallError(webhook, { why, code: 503, cause });
    };
    try {
      const answer = await this.#inTime(request, signal);
      const response = answer ?? { allowed: true };
      const isOwn = this.#ports.type === 'mutate' && response.allowed && (response.patch ?? '') === '';
      return { response, ...(isOwn && request.object !== null && { object: request.object }) };
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (!isStatusError(error)) throw failed(error);
      const { status } = error;
      return { response: { allowed: false, status } };
    }
  }

  async #inTime(request: AdmissionRequest, signal: CallSignal | undefined): Promise<AdmissionAnswer> {
    const { timeoutSeconds = 10 } = this.#options;
    const { type, clock } = this.#ports;
    const stop = new AbortController();
    const over = new Promise<never>((_, reject) => {
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
    });
    const onAbort = (): void => stop.abort(signal?.reason);
    if (signal?.aborted === true) onAbort();
    addAbortListener(signal, onAbort);
    const cancel = clock.setTimer(() => stop.abort(new Error('context deadline exceeded')), timeoutSeconds * 1000);
    // The function may end long after its time limit, when nobody waits for it any more.
    const call = { signal: stop.signal };
    try {
      const asked = async (): Promise<AdmissionAnswer> =>
        type === 'mutate' ? this.#options.mutate?.(request, call) : this.#options.validate?.(request, call);
      return await Promise.race([asked(), over]);
    } finally {
      cancel();
      removeAbortListener(signal, onAbort);
      over.catch(() => undefined);
    }
  }
}
