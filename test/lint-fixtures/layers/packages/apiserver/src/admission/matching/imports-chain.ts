import '../admission-chain.ts';
