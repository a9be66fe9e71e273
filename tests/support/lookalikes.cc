#include "tests/support/lookalikes.h"

#include <algorithm>

#include "base/check.h"

namespace lodestep::test {
namespace {

struct Edit {
  const char* kind;
  const char* from;
  const char* to;
};

struct Page {
  const char* text;
  std::vector<Edit> edits;
};

const std::vector<Page>& pages() {
  static const std::vector<Page> kPages{
      {R"(Instruction:
Find me a woven jacket with hood, color: navy, size: large, price lower than 60.00 dollars
[button] Back to Search [button_]
[button] < Prev [button_]
color
  [button] navy [button_]
  [button] olive [button_]
  [button] wine red [button_]
size
  [button] medium [button_]
  [button] large [button_]
  [button] x-large [button_]
Norrby Woven Hooded Jacket for Men, Light and Warm, 2 Pack
Price: $49.90
Rating: 4.2
[button] Description [button_]
[button] Features [button_]
[button] Buy Now [button_])",
       {{"option", "[button] navy [button_]", "[clicked button] navy [clicked button_]"},
        {"option", "[button] olive [button_]", "[clicked button] olive [clicked button_]"},
        {"option", "[button] wine red [button_]", "[clicked button] wine red [clicked button_]"},
        {"option", "[button] medium [button_]", "[clicked button] medium [clicked button_]"},
        {"option", "[button] large [button_]", "[clicked button] large [clicked button_]"},
        {"option", "[button] x-large [button_]", "[clicked button] x-large [clicked button_]"},
        {"title word", "Light and Warm", "Light and Dry"},
        {"title word", "for Men", "for Women"},
        {"title word", "Woven Hooded", "Woven Belted"},
        {"title word", "Norrby Woven", "Norrland Woven"},
        {"title number", "2 Pack", "3 Pack"},
        {"price", "$49.90", "$94.90"},
        {"price", "$49.90", "$49.99"},
        {"rating", "4.2", "N.A."},
        {"task", "color: navy", "color: olive"},
        {"task", "60.00 dollars", "70.00 dollars"},
        {"option list", "  [button] olive [button_]\n", ""},
        {"option list", "x-large", "xx-large"}}},
      {R"(Instruction:
Find me a quiet desk fan, price lower than 40.00 dollars
[button] Back to Search [button_]
Page 1 (Total results: 48)
[button] Next > [button_]
[button] B0QX71LLM2 [button_]
Quiet Desk Fan with Clip, 3 Speeds, White
$18.95
[button] B07TTR5KQ9 [button_]
Folding Desk Fan, USB, Rechargeable by Airly
$24.00
[button] B0911PWW4D [button_]
Tower Fan for Bedroom, Remote Control, 36 Inch
$38.50)",
       {{"page", "Page 1", "Page 2"},
        {"page", "Page 1", "Page 3"},
        {"results", "Total results: 48", "Total results: 50"},
        {"product", "B0QX71LLM2", "B0QX71LLM3"},
        {"product", "B07TTR5KQ9", "B07TTRSKQ9"},
        {"title word", "White", "Black"},
        {"title word", "by Airly", "by Airfly"},
        {"title number", "36 Inch", "42 Inch"},
        {"price", "$24.00", "$42.00"},
        {"price", "$38.50", "$38.59"},
        {"product fewer",
         "[button] B0911PWW4D [button_]\nTower Fan for Bedroom, Remote Control, 36 Inch\n$38.50", ""},
        {"button", "[button] Next > [button_]\n", ""}}},
      {R"(Instruction: [SEP] Find me a ceramic vase, price lower than 30.00 dollars [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] teal [SEP] rust [SEP] size [SEP] 8 inch [SEP] 12 inch [SEP] Handmade Ceramic Vase, Matte, Set of 2 by Kolding [SEP] Price: $27.40 [SEP] Rating: 4.8 [SEP] Description [SEP] Buy Now)",
       {{"title word", "Matte", "Glossy"},
        {"title word", "Ceramic Vase, Matte", "Ceramic Bowl, Matte"},
        {"title number", "Set of 2", "Set of 4"},
        {"price", "$27.40", "$24.70"},
        {"rating", "4.8", "4.3"},
        {"option list", "rust", "rose"},
        {"option list", " [SEP] 12 inch", ""},
        {"option list", "8 inch", "9 inch"},
        {"task", "30.00", "50.00"}}},
      {R"(Instruction:
Find me a cotton rug, price lower than 90.00 dollars
[button] Back to Search [button_]
[button] < Prev [button_]
This rug is woven by hand from recycled cotton and jute. Machine wash cold, do not bleach. It measures 120 x 180 cm and weighs 2.4 kg. Ships in 3 days.)",
       {{"description", "recycled cotton", "organic cotton"},
        {"description", "by hand", "by machine"},
        {"description", "Machine wash cold", "Dry clean only"},
        {"description", "do not bleach", "may be bleached"},
        {"description number", "120 x 180", "160 x 230"},
        {"description number", "2.4 kg", "4.2 kg"},
        {"description number", "3 days", "9 days"},
        {"description", " and jute", ""},
        {"sub page",
         "This rug is woven by hand from recycled cotton and jute. Machine wash cold, do not bleach. It "
         "measures 120 x 180 cm and weighs 2.4 kg. Ships in 3 days.",
         ""}}},
      {R"(-= Welcome =-

You are in the middle of a room. Looking quickly around you, you see a bed 1, a desk 2, a desk 1, a drawer 3, a drawer 2, a drawer 1, a garbagecan 1, a shelf 2, and a shelf 1.

Your task is to: put a clean mug in shelf.)",
       {{"object fewer", "a drawer 3, ", ""},
        {"object fewer", "a desk 2, ", ""},
        {"object fewer", ", and a shelf 1", ""},
        {"object", "a garbagecan 1", "a laundryhamper 1"},
        {"number", "a bed 1", "a bed 2"},
        {"task", "clean mug", "hot mug"},
        {"task", "mug in shelf", "mug in drawer"},
        {"task", "a clean mug", "two clean mugs"}}},
      {R"(On the desk 1, you see a alarmclock 2, a book 1, a cd 3, a mug 2, a pen 1, and a pencil 4.)",
       {{"object fewer", "a book 1, ", ""},
        {"object fewer", "a mug 2, ", ""},
        {"object fewer", "a alarmclock 2, ", ""},
        {"object", "a pen 1", "a keychain 1"},
        {"number", "a cd 3", "a cd 1"},
        {"number", "a mug 2", "a mug 1"},
        {"place", "desk 1", "desk 2"},
        {"place", "On the desk 1", "On the shelf 1"},
        {"swapped", "a cd 3, a mug 2", "a cd 2, a mug 3"}}},
      {R"(You arrive at drawer 2. The drawer 2 is closed.
You are carrying: a mug 1.
The microwave 1 is off.)",
       {{"open or closed", "is closed", "is open"},
        {"place", "arrive at drawer 2. The drawer 2", "arrive at drawer 3. The drawer 3"},
        {"carrying", "a mug 1", "nothing"},
        {"carrying", "a mug 1", "a mug 2"},
        {"carrying", "a mug 1", "a plate 1"},
        {"on or off", "is off", "is on"},
        {"clean or dirty", "a mug 1", "a clean mug 1"},
        {"line fewer", "\nThe microwave 1 is off.", ""}}},
      {R"(You open the fridge 1. The fridge 1 is open. In it, you see a apple 1, a egg 3, a lettuce 2, and a tomato 1.
You are facing the fridge 1. Next to it, you see nothing.
In hand (status): potato 2 (hot).)",
       {{"object fewer", "a egg 3, ", ""},
        {"object", "a lettuce 2", "a bread 2"},
        {"number", "a apple 1", "a apple 2"},
        {"status", "(hot)", "(cool)"},
        {"status", "potato 2 (hot)", "potato 2"},
        {"status", "potato 2 (hot)", "nothing"},
        {"open or closed", "The fridge 1 is open", "The fridge 1 is closed"},
        {"nothing or something", "you see nothing", "you see a countertop 1"},
        {"place", "You are facing the fridge 1", "You are facing the sinkbasin 1"}}},
      {R"(########
#______#
#__$___#
#_@_$__#
#__.__.#
########)",
       {{"moved box", "#__$___#", "#___$__#"},
        {"moved box", "#_@_$__#", "#_@__$_#"},
        {"moved player", "#_@_$__#", "#@__$__#"},
        {"moved player", "#______#\n#__$___#\n#_@_$__#", "#_@____#\n#__$___#\n#___$__#"},
        {"moved goal", "#__.__.#", "#_.___.#"},
        {"box on goal", "#__.__.#", "#__*__.#"},
        {"wall", "#______#", "##_____#"},
        {"box fewer", "#_@_$__#", "#_@____#"},
        {"goal fewer", "#__.__.#", "#__.___#"},
        {"swapped rows", "#______#\n#__$___#", "#__$___#\n#______#"}}},
      {R"(Board
# # # # # #
# _ _ X _ #
# _ P _ _ #
# _ _ O _ #
# # # # # #
Boxes on target: 0 of 1)",
       {{"moved box", "# _ _ X _ #", "# _ X _ _ #"},
        {"moved box", "# _ _ X _ #", "# _ _ _ X #"},
        {"moved player", "# _ P _ _ #", "# P _ _ _ #"},
        {"player on target", "# _ P _ _ #\n# _ _ O _ #", "# _ _ _ _ #\n# _ _ S _ #"},
        {"moved target", "# _ _ O _ #", "# _ O _ _ #"},
        {"on target", "0 of 1", "1 of 1"},
        {"target fewer", "# _ _ O _ #", "# _ _ _ _ #"}}},
      {R"(Flights from Oslo to Lisbon on Friday
NX 412  07:15  1 stop   204 EUR  economy
NX 580  11:40  direct   289 EUR  economy
QT 77   18:05  2 stops  171 EUR  economy
Passengers: 2 adults
Selected: none)",
       {{"selected", "Selected: none", "Selected: NX 412"},
        {"selected", "Selected: none", "Selected: QT 77"},
        {"passengers", "2 adults", "1 adult"},
        {"passengers", "2 adults", "2 adults, 1 child"},
        {"price", "204 EUR", "240 EUR"},
        {"stops", "1 stop ", "direct "},
        {"class", "171 EUR  economy", "171 EUR  business"},
        {"day", "Friday", "Saturday"},
        {"place", "to Lisbon", "to London"},
        {"flight", "NX 580", "NX 508"}}},
      {R"(Inbox (3 unread)
[ ] Anna Berg      Invoice for March
[ ] Build server   Pipeline 88 failed on main
[ ] Jon            Lunch?
Folder: Inbox
Search: (empty))",
       {{"ticked", "[ ] Anna Berg", "[x] Anna Berg"},
        {"ticked", "[ ] Jon", "[x] Jon"},
        {"unread", "3 unread", "2 unread"},
        {"subject", "Invoice for March", "Invoice for April"},
        {"subject", "Pipeline 88 failed", "Pipeline 88 passed"},
        {"sender", "Jon  ", "Jona "},
        {"folder", "Folder: Inbox", "Folder: Archive"},
        {"search", "(empty)", "invoice"},
        {"mail fewer", "[ ] Jon            Lunch?\n", ""}}},
      {R"($ ls -l
-rw-r--r-- 1 ann staff 1204 notes.txt
-rw-r--r-- 1 ann staff   88 todo.md
drwxr-xr-x 2 ann staff 4096 src
$ pwd
/home/ann/project)",
       {{"file fewer", "-rw-r--r-- 1 ann staff   88 todo.md\n", ""},
        {"file name", "todo.md", "todo.bak"},
        {"file size", "1204", "1024"},
        {"rights", "-rw-r--r-- 1 ann staff 1204", "-rwxr-xr-x 1 ann staff 1204"},
        {"owner", "1 ann staff   88", "1 bob staff   88"},
        {"folder", "/home/ann/project", "/home/ann/projects"},
        {"command", "$ ls -l", "$ ls -la"}}},
      {R"(Order form
Name: Kim Larsen
Country: Norway
Express delivery: no
Items: 4
Total: 1,240.00
Errors: none)",
       {{"field", "Kim Larsen", "Kim Larson"},
        {"field", "Norway", "Sweden"},
        {"yes or no", "Express delivery: no", "Express delivery: yes"},
        {"count", "Items: 4", "Items: 5"},
        {"total", "1,240.00", "1,420.00"},
        {"error", "Errors: none", "Errors: name is missing"},
        {"field fewer", "Country: Norway\n", ""}}},
  };
  return kPages;
}

}  // namespace

std::vector<Lookalike> lookalikes() {
  std::vector<Lookalike> pairs;
  for (const Page& page : pages()) {
    for (const Edit& edit : page.edits) {
      const std::string a = page.text;
      const std::size_t at = a.find(edit.from);
      LODESTEP_CHECK(at != std::string::npos, edit.kind, edit.from);
      std::string b = a;
      b.replace(at, std::string(edit.from).size(), edit.to);
      pairs.push_back({edit.kind, a, b});
    }
  }
  return pairs;
}

std::vector<std::string> actions_on(const std::string& page) {
  std::vector<std::string> actions;
  for (std::size_t at = page.find("button] "); at != std::string::npos; at = page.find("button] ", at + 1)) {
    const std::size_t from = at + 8;
    const std::size_t to = page.find(" [", from);
    if (page[at - 1] == '[' || page.compare(at - 8, 8, "[clicked") == 0) {
      actions.push_back("click[" + page.substr(from, to - from) + "]");
    }
  }
  if (actions.empty()) actions = {"down", "left", "right", "up"};
  std::sort(actions.begin(), actions.end());
  return actions;
}

}  // namespace lodestep::test
