// The parts of yaml that this package uses. Bundlers leave yaml out where a program reads no kubeconfig, because this module alone imports
// it (scripts/join-modules.mjs).
export { isMap, isSeq, parse, parseDocument, stringify, type YAMLMap } from 'yaml';
