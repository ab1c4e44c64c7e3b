"""List ordinary words, which a prompt can consist of without being about the code.

They are the words of conversation, of questions about anything, and of chores: git, tests, builds.
`benchmarks/hook_context` measures prompts of such words. English words stand as they are written;
Japanese ones are read by their translation.
"""

_CONVERSATION = """
hi hello hey morning afternoon evening night day today tonight tomorrow yesterday week weekend
month year hour minute moment noon thanks thank thx please sorry ok okay yes yeah yep no nope sure
right fine good great nice perfect perfectly awesome excellent cool wow amazing job work works
working worked well done ready finished lunch coffee break back away start started begin continue
proceed go going gone went ahead stop stopped wait keep kept try tried again same other others
another one two three four five ten first second third last next previous option plan approach
idea way thing things something anything nothing everything everyone simple simpler short shorter
briefly long longer better best worse bad much many lot lots little bit more less most very really
quite just only still yet already now later soon before after since until ago time times once
always never often sometimes maybe perhaps like likes want wanted need needed think thought know
known tell say said saying ask asked answer answers question questions remember forget prefer show
see seen look looks looking make made making let lets don dont isn doesn didn do does did doing
have has had get got gets take taken takes give given put leave left use using used help helps
mean means meaning difference different between explain describe summarize summarise summary
sentence sentences word words language english japanese french german chinese translate
translation polite mail email letter customer team people person friend boss colleague book
recommend recommendation interview junior senior developer programmer engineer beginner old new
young capital city country world weather agree sound sounds reasonable exactly expected happen
happened choose chosen convenience convenient review far would could should can will may might
shall must if when where what which who why how so too also together here there hear big small
large easy hard difficult interesting important fun joke funny story instead style tone advantage
advantages disadvantage pros cons worth general generally usually basically actually careful sense
opinion favourite favorite enough happy glad wish hope sleep tired busy bye meeting note notes
whole part kind sort talk chat welcome congratulations correct wrong true false cannot mind anyway
number list them it this that these those both all any some none write wrote ve ll called named
forgot forgotten versus vs brief ideas teach learn learned explained own our ours whether keeping
high low fast name names passed
"""
_CHORES = """
commit commits committed push pushed pull merge merged merging rebase rebased squash stash branch
branches main master tag tags release git github gitlab log logs diff diffs status conflict
conflicts pr request requests message messages ticket issue issues tree undo redo revert reset
change changes changed changing clean cleanup run runs running rerun test tests testing tested
lint linter format formatter build builds building rebuild compile install installed reinstall
upgrade update updated dependency dependencies package packages server background foreground dev
restart output result results command commands terminal shell console temporary file files folder
folders directory project repository repo code page green red ci pipeline create created creating
delete deleted remove removed rename open opened close closed fix fixes fixed problem problems bug
bugs error errors fail failed fails failing step steps task tasks todo reviewer checkout check
checked checks version local remote upstream origin model models token tokens amend amended cherry
pick picked bisect blame sign signed off draft bump bumped deploy deployed
"""
IDLE_WORDS = frozenset((_CONVERSATION + _CHORES).split())
"""Folded words."""
