// Cost estimates of calls: first the functions of Kubernetes' libraries, by name, then the language's, by overload.
import { isExactType, structType } from '../types/cel-type.ts';
import {
  type CallEstimate,
  type CostNode,
  type EstimatedCall,
  elementOf,
  patternFactor,
  stringFactor,
} from './cost-node.ts';
import { estimateListCall } from './list-estimates.ts';
import { add, exactly, multiply, one, type Range, scale, smaller, unknownSize } from './range.ts';
import { joinEstimate, replaceEstimate, splitEstimate } from './text-estimates.ts';

/**
 * Returns the cost of a call without the costs of its operands; undefined for calls that cost 1, or that the caller
 * handles itself.
 */
export function estimateCall(call: EstimatedCall): CallEstimate | undefined {
  return estimateListCall(call) ?? byName.get(call.name)?.(call) ?? byOverload.get(call.overload)?.(call);
}

type Estimate = (call: EstimatedCall) => CallEstimate | undefined;

const constant =
  (cost: number): Estimate =>
  () => ({ cost: exactly(cost) });

const traversal = (call: EstimatedCall, node: CostNode, factor = 1): Range =>
  scale(call.sizeOf(node), factor * stringFactor);

/** Cost of reading the first argument once. */
const traverseArg: Estimate = (call) => {
  const [arg] = call.args;
  return arg && { cost: traversal(call, arg) };
};

/** Like {@link traverseArg}, with a result of the same size. */
const traverseOneArg: Estimate = (call) => {
  const [arg] = call.args;
  return call.args.length === 1 && arg ? { cost: traversal(call, arg), resultSize: call.sizeOf(arg) } : undefined;
};

const traverseTarget: Estimate = (call) =>
  call.target && { cost: traversal(call, call.target), resultSize: call.sizeOf(call.target) };

const walk: Estimate = (call) => {
  const { target } = call;
  if (target === undefined) return undefined;
  const element = elementOf(target);
  if (element === undefined) return { cost: traversal(call, target) };
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
  const elementCost = isText ? add(one, traversal(call, element)) : one;
  return { cost: multiply(call.sizeOf(target), elementCost) };
};

const patternCost = (call: EstimatedCall, text: CostNode, pattern: CostNode): Range => {
  const textCost = scale(add(call.sizeOf(text), one), stringFactor);
  return multiply(textCost, scale(call.sizeOf(pattern), patternFactor));
};

const find: Estimate = (call) => {
  const { target, args } = call;
  if (target === undefined || args[0] === undefined) return undefined;
  const { max } = call.sizeOf(target);
  return { cost: patternCost(call, target, args[0]), resultSize: { min: 0n, max } };
};

const ip: Estimate = (call) => (call.overload === 'cidr_ip' ? { cost: one } : traverseArg(call));

const canonical: Estimate = (call) => {
  const [arg] = call.args;
  return arg && { cost: traversal(call, arg, 2) };
};

const addressBytes: Range = { min: 4n, max: 16n };

const containsIp: Estimate = (call) => {
  const [arg] = call.args;
  if (arg === undefined) return undefined;
  const cost = scale(add(addressBytes, addressBytes), stringFactor);
  return { cost: call.overload === 'cidr_contains_ip_string' ? add(cost, parseCost(call, arg)) : cost };
};

const containsCidr: Estimate = (call) => {
  const [arg] = call.args;
  if (arg === undefined) return undefined;
  const compare = scale(add(addressBytes, addressBytes), stringFactor);
  const cost = add(add(compare, scale(addressBytes, stringFactor)), one);
  return { cost: call.overload === 'cidr_contains_cidr_string' ? add(cost, parseCost(call, arg)) : cost };
};

const parseCost = (call: EstimatedCall, arg: CostNode): Range => scale(call.sizeOf(arg), stringFactor);

/** Longest pattern of the named formats, as the estimate assumes. */
const formatPatternSize = 128;

const validate: Estimate = (call) => {
  const [arg] = call.args;
  return arg && { cost: scale(traversal(call, arg), formatPatternSize * patternFactor) };
};

const selector: Estimate = (call) => {
  const [arg] = call.args;
  return call.args.length === 1 && arg ? { cost: selectorCost(call.sizeOf(arg)) } : undefined;
};

/** Returns the cost of parsing a selector of a length: each requirement needs at least two characters. */
function selectorCost(length: Range): Range {
  const requirements = scale(scale(length, 0.5), 50);
  return add(add(exactly(10), scale(length, stringFactor)), requirements);
}

const simpleStructs = [
  'kubernetes.Quantity',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
  'kubernetes.Semver',
];

const equals: Estimate = ({ args: [left, right] }) => {
  if (left === undefined || right === undefined || !isExactType(left.type, right.type)) return undefined;
  const { kind, name } = left.type;
  if (kind === 'opaque' && (name === 'net.IP' || name === 'net.CIDR')) return { cost: one };
  if (kind !== 'struct') return undefined;
  if (simpleStructs.includes(name)) return { cost: one };
  if (name === 'kubernetes.NamedFormat') return { cost: scale({ min: 1n, max: 64n }, stringFactor) };
  if (!isExactType(left.type, structType('kubernetes.URL'))) return undefined;
  const size = right.size ?? one;
  return { cost: scale({ min: 1n, max: size.max }, stringFactor) };
};

const byName: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['check', constant(350_000)],
  ...namesOf('serviceAccount path group resource subresource namespace name allowed reason error errored', constant(1)),
  ...namesOf('fieldSelector labelSelector', selector),
  ...namesOf('isSorted sum max min indexOf lastIndexOf', walk),
  ...namesOf('url jsonpatch.escapeKey', traverseOneArg),
  ...namesOf('lowerAscii upperAscii substring trim', traverseTarget),
  ['replace', replaceEstimate],
  ['split', splitEstimate],
  ['join', joinEstimate],
  ...namesOf('find findAll', find),
  ...namesOf('cidr isIP isCIDR quantity isQuantity semver isSemver', traverseArg),
  ['ip', ip],
  ['ip.isCanonical', canonical],
  ...namesOf(
    'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast',
    constant(1),
  ),
  ['containsIP', containsIp],
  ['containsCIDR', containsCidr],
  ['validate', validate],
  ['format.named', constant(1)],
  ...namesOf(
    'sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch',
    constant(1),
  ),
  ...namesOf('getScheme getHostname getHost getPort getEscapedPath getQuery', constant(1)),
  ['_==_', equals],
]);

function namesOf(names: string, estimate: Estimate): [string, Estimate][] {
  return names.split(' ').map((name) => [name, estimate]);
}

const compare: Estimate = (call) => {
  const [left, right] = call.args as [CostNode, CostNode];
  const sizes = [sizeOrUnknown(left).max, sizeOrUnknown(right).max] as const;
  const max = smaller(sizes[0], sizes[1]);
  return { cost: scale({ min: max > 0n ? 1n : 0n, max }, stringFactor) };
};

/** Functions of the language take sizes from the expression only. */
function sizeOrUnknown(node: CostNode): Range {
  return node.size ?? unknownSize;
}

const byOverload: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['string_format', ({ target }) => target && { cost: scale(sizeOrUnknown(target), stringFactor) }],
  ['string_to_bytes', ({ args: [arg] }) => arg && bytesEstimate(sizeOrUnknown(arg))],
  ['bytes_to_string', ({ args: [arg] }) => arg && textEstimate(sizeOrUnknown(arg))],
  ['strings_quote', ({ args: [arg] }) => arg && quoteEstimate(sizeOrUnknown(arg))],
  ['starts_with_string', ({ args: [arg] }) => arg && { cost: scale(sizeOrUnknown(arg), stringFactor) }],
  ['ends_with_string', ({ args: [arg] }) => arg && { cost: scale(sizeOrUnknown(arg), stringFactor) }],
  ['in_list', ({ args: [, list] }) => list && { cost: scale(sizeOrUnknown(list), 1) }],
  ['matches_string', ({ target, args: [pattern] }) => target && pattern && { cost: matchCost(target, pattern) }],
  ['contains_string', ({ target, args: [part] }) => target && part && { cost: searchCost(target, part) }],
  ...namesOf(comparisonOverloads(), compare),
]);

function comparisonOverloads(): string {
  const ordered = ['less', 'greater', 'less_equals', 'greater_equals'].flatMap((name) => [
    `${name}_string`,
    `${name}_bytes`,
  ]);
  return [...ordered, 'equals', 'not_equals'].join(' ');
}

/** A character may take four bytes. */
function bytesEstimate({ min, max }: Range): CallEstimate {
  return { cost: scale({ min, max }, stringFactor), resultSize: { min, max: wrapped(max * 4n) } };
}

function textEstimate({ min, max }: Range): CallEstimate {
  return { cost: scale({ min, max }, stringFactor), resultSize: { min: min / 4n, max } };
}

function quoteEstimate({ min, max }: Range): CallEstimate {
  return { cost: scale({ min, max }, stringFactor), resultSize: { min: min + 2n, max: wrapped(max * 2n + 2n) } };
}

/** Go computes these few sizes without saturation. */
function wrapped(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function matchCost(text: CostNode, pattern: CostNode): Range {
  return multiply(scale(add(sizeOrUnknown(text), one), stringFactor), scale(sizeOrUnknown(pattern), patternFactor));
}

function searchCost(text: CostNode, part: CostNode): Range {
  return multiply(scale(sizeOrUnknown(text), stringFactor), scale(sizeOrUnknown(part), stringFactor));
}
