import '../admission/plugin.ts';
