export { CompiledExpression, type CompileOptions, compile, compileInSlices, type Declarations } from './compile.ts';
export type { CostNode, SizeEstimator } from './cost/cost-node.ts';
export type { Range } from './cost/range.ts';
export { Environment, type Extension, type ValidationOptions } from './environment/environment.ts';
export type { Library } from './environment/library.ts';
export { kubernetesEnvironment, newExpressions, storedExpressions } from './kubernetes-environment.ts';
export {
  type AuthorizationDecision,
  type AuthorizationRequest,
  type Authorizer,
  CelAuthorizer,
  CelResourceCheck,
} from './libraries/authorizer.ts';
export { bindingsLibrary } from './libraries/bindings.ts';
export { CelCidr } from './libraries/cidr.ts';
export { CelFormat } from './libraries/format.ts';
export { type GoUrl, isRequestUri, parseUrl } from './libraries/go-url.ts';
export { CelIp } from './libraries/ip.ts';
export { jsonPatchLibrary } from './libraries/json-patch.ts';
export { CelQuantity } from './libraries/quantity.ts';
export { CelSemver } from './libraries/semver.ts';
export { CelUrl } from './libraries/urls.ts';
export { stepsToCompile } from './patterns/pattern.ts';
export { patternSize } from './patterns/pattern-size.ts';
export {
  answerPatternJob,
  type PatternAnswer,
  type PatternJob,
  type PatternThread,
  usePatternThread,
} from './patterns/pattern-work.ts';
export type { VariableSource } from './plan/frame.ts';
export {
  type Activation,
  type EvaluateOptions,
  type Evaluation,
  type Program,
  perCallLimit,
  type TurnOptions,
} from './program.ts';
export { CelCompileError, CelProgramError, type Issue } from './syntax/issues.ts';
export type { Location } from './syntax/source.ts';
export {
  CelType,
  isExactType,
  listType,
  mapType,
  optionalType,
  structType,
  type TypeKind,
} from './types/cel-type.ts';
export { escapeName, reservedWords, unescapeName } from './types/escaping.ts';
export {
  type FunctionDeclaration,
  globalOverload,
  type Implementation,
  memberOverload,
  type Overload,
} from './types/function-declaration.ts';
export type { TypeProvider } from './types/type-provider.ts';
export { typeOf } from './types/type-text.ts';
export type { ValueKind } from './values/cel-box.ts';
export { type AnyList, CelList, isList, listItems, listSize } from './values/cel-list.ts';
export { type AnyMap, CelMap, CelMapping, isMap, mapFind, mapKeys, mapSize } from './values/cel-map.ts';
export { CelObject } from './values/cel-object.ts';
export { CelDuration, parseGoDuration } from './values/duration.ts';
export { equalValues } from './values/equality.ts';
export { CelFailure, overloadFailure } from './values/failure.ts';
export { CelDouble, CelUint } from './values/numbers.ts';
export { CelOptional } from './values/optional.ts';
export { CelTimestamp, parseTimestamp } from './values/timestamp.ts';
export { doubleValue, intValue, kindOf, typeOfValue, type Value } from './values/value.ts';
export { ValuePending } from './values/value-pending.ts';
