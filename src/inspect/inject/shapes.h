/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The features of a sentence that are no words of it. Their order is part of the weights: append,
 * and train again.
 */

#include "inspect/inject/classes.h"

enum shape {
	S_PLACE, /* one for each PLACE_* */
	S_UNSEEN = S_PLACE + PLACE_COUNT,
	S_HIT,                /* one for each family of rules */
	S_ORDER = S_HIT + 16, /* an order by the class of its verb, ten of them */
	S_MANY =
		S_ORDER + 10, /* how many kinds of pressure come together: 2, 3, 4, 5, 6 and more */
	S_ABOUT = S_MANY + 5, /* density of words about attacks in the text, four steps */
	S_ORDERS = S_ABOUT + 4, /* of sentences that start with an order */
	S_YOUS = S_ORDERS + 4,
	S_AGENTS = S_YOUS + 3,
	S_QUOTED_WORD = S_AGENTS + 3, /* a quotation mark behind a word stands before it */
	S_QUOTED_COLON,               /* … behind a colon or a bracket */
	S_QUOTED_BACK,                /* a backquote */
	S_MENTIONED, /* "example", "such as", words about attacks stand before it */
	S_ISOLATED,  /* nothing around it gives orders or says "you" */
	S_QUESTION,
	S_BULLET,
	S_CAPITALS,
	S_EXCLAIMS,
	S_FRAMED, /* by ###, ===, <tag> */
	S_OVERRIDE_INSTR,
	S_OVERRIDE_INSTR_ORDER,
	S_OVERRIDE_PRIOR,
	S_OVERRIDE_PRIOR_ORDER,
	S_OVERRIDE_ALL,
	S_OVERRIDE_ALL_ORDER,
	S_SECRECY_USER,
	S_NOT_TELL_USER,
	S_VOCATIVE,
	S_IF_AGENT,
	S_NOTE_AGENT,
	S_EXFIL_TARGET,
	S_EXFIL_OBJECT,
	S_EXFIL_OBJECT_TARGET,
	S_REVEAL_PROMPT,
	S_REVEAL_SECRET,
	S_EXEC_TOOL,
	S_EXEC_IDENT,
	S_BEFORE_TASK,
	S_ORDER_USER,
	S_USER_OBJECT,
	S_YOU_MUST,
	S_AGENT_MUST,
	S_TASK_COLON,
	S_ROLE_FIRST,
	S_YOU_MODE,
	S_AUTHORITY_COLON,
	S_AUTHORITY_PERMIT,
	S_URGENT_ORDER,
	S_DESPITE_ORDER,
	S_ALWAYS_ORDER,
	S_MY_OBJECT_ORDER,
	S_INSTEAD_ORDER,
	S_FAKE_ERROR,
	S_NEW_POLICY,
	S_UNSEEN_ORDER,
	S_UNSEEN_YOU,
	S_UNSEEN_AGENT,
	S_ISOLATED_ORDER,
	S_ISOLATED_YOU_ORDER,
	S_ISOLATED_AGENT,
	S_ISOLATED_PRESSED, /* three kinds of pressure */
	S_HIT_QUOTED,
	S_HIT_ABOUT,
	S_HIT_ISOLATED,
	S_HIT_UNSEEN,
	S_HITS_TWO,
	S_NEAR_HIT,
	S_NEAR_ORDER,
	S_ABOUT_QUOTED,
	S_READER_ORDER,
	S_ADDRESSED,      /* a model is spoken to, in whatever way */
	S_RIGHTS_ORDER,   /* access or protection is to be changed */
	S_VERDICT_ORDER,  /* a judgement is to be given */
	S_MEMORY_LASTING, /* something that lasts is to be allowed, sent or kept quiet */
	S_MEMORY_ORDER,
	S_PARAM_OBJECT,  /* a parameter shall hold what is nobody's business */
	S_FORMAT_OBJECT, /* an image or link shall */
	S_FORMAT_TARGET,
	S_EXEC_TARGET, /* something from an address is to be run */
	S_PIPED_SHELL,
	S_PLACEHOLDER,  /* an address with a blank in it */
	S_OBJECT_OUT,   /* an object, then a place in the answer */
	S_SWITCH_ORDER, /* before, after or besides the task, an order */
	S_OVERRIDE_TASK,
	S_HIDE_ORDER,
	S_CONSENT_ORDER,
	S_CARES, /* asks for restraint and for nothing else */
	S_FOR_PEOPLE,
	S_DATA,                       /* a value among data */
	S_DEVS,                       /* density of words about building software, three steps */
	S_BULLETS = S_DEVS + 3,       /* of list items, three steps */
	S_AGENT_DOES = S_BULLETS + 3, /* a model is said to do it: an order in the third person */
	S_AGENT_NORM,                 /* a model is bound by custom, policy or agreement */
	S_NORM_ACTION,
	S_NORM_OBJECT,
	S_DOES_OBJECT,
	S_DOES_TARGET,
	S_AGENT_OBJECT,
	S_PUT_PARAM,    /* something is to be put into a parameter */
	S_TOOL_MUST,    /* while a tool is there, something has to be done */
	S_HUSHED_AFTER, /* an order, and a neighbour that wants silence */
	S_HUSHED_HERE,  /* silence about what a neighbour orders */
	S_ASIDE,        /* in brackets */
	S_NOTE_FIRST,
	S_ONLY_AGENT, /* nowhere else does the text speak of a model */
	S_ONLY_YOU,
	S_ONLY_ORDER,
	S_CALLED_ORDER, /* a model is called, and told what to do in the same breath */
	S_MODEL_ORDER,  /* models as a kind are bound: "AI planners shall", "agents submit" */
	S_HARM,         /* one for each HARM_* */
	S_HARM_KINDS = S_HARM + HARM_COUNT, /* how many in it and its neighbours: none, 1, 2, 3 */
	S_HELD = S_HARM_KINDS + 4, /* something harmful is forbidden, and nothing is wanted */
	S_HELD_NEAR,
	S_HARM_NEAR,     /* only a neighbour wants something harmful */
	S_CALLED_ONLY,   /* a model is spoken to, and nothing harmful is wanted */
	S_CALLED_HARM,   /* it is */
	S_HUSHED_HARM,   /* and the user is not to know */
	S_CONSENT_HARM,  /* … is said to agree */
	S_CLAIMED_HARM,  /* … by somebody in authority */
	S_PRESSED_HARM,  /* … at once */
	S_SWITCHED_HARM, /* … besides or before the task */
	S_CAREFUL_HARM,  /* … with care */
	S_DEV_HARM,      /* … where software is made, and nothing leaves it */
	S_UNSEEN_HARM,
	S_USER_HARM,    /* to what is the user's */
	S_STRANGE_HARM, /* an address is named */
	S_COUNT,
};
_Static_assert(S_COUNT <= FEATURE_SHAPES, "room for shapes");
